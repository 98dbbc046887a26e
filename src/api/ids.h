// Identities that cross rooms.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace firebrick {

using RequestId = StrongId<struct RequestIdTag, uint64_t>;  // one sequence; never the client's own id

}  // namespace firebrick
