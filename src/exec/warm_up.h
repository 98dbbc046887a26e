// WarmUp: the executor's thread, its tables and the first KV pages used once, so that the first request finds
// them there. It computes no token: packing has just written every weight, and a pass over them all would
// cost a start as much as the first token itself (docs/decisions/0005-start.md). Thread: the executor's
// caller, before any other step.
#pragma once

#include <cstdint>

#include "exec/executor.h"

namespace firebrick {

// Uses slot 0 and the first num_groups blocks, one of each layer group, and leaves them free.
void WarmUp(Executor* executor, int32_t num_groups);

}  // namespace firebrick
