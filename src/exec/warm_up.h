// WarmUp: one step of one token, so that a server says "ready" only when a first token could be had: weights,
// scratch, KV pages and workers have then been used once. Thread: the executor's caller, before any other
// step.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "exec/executor.h"

namespace firebrick {

// Uses slot 0 and the first block of each of num_groups layer groups, and leaves them free. An error is the
// step's own (no memory for its scratch).
Status WarmUp(Executor* executor, int32_t num_groups);

}  // namespace firebrick
