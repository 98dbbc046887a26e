// Flags that several commands share, so that they read the same everywhere. Thread: the main thread.
#pragma once

#include "cli/flags.h"
#include "config/options.h"

namespace firebrick {

// MODEL, --isa, --no-kernel-timing, --threads, --kv-cache-dtype.
void AddModelFlags(ModelOptions* options, FlagSet* flags);
// --max-model-len, --kv-cache-memory: how much context one process keeps.
void AddContextFlags(EngineOptions* options, FlagSet* flags);
// --max-num-seqs, --max-num-batched-tokens, --no-enable-prefix-caching: how requests share a step.
void AddBatchFlags(EngineOptions* options, FlagSet* flags);

}  // namespace firebrick
