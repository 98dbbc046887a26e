// Resolve: flags, hardware facts and model facts become one EngineConfig. Nothing else decides a default.
// Thread: called once at start; pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/options.h"
#include "engine/engine.h"
#include "kernels/kv_view.h"

namespace firebrick {

struct HardwareFacts {
  uint64_t free_memory_bytes = 0;  // cgroup-aware, after the weights are loaded
};

struct ModelFacts {
  int32_t max_position = 0;
  KvGeometry geometry;
  std::vector<uint8_t> key_root;  // NumericsId, weight digest, KV format
};

struct ResolvedEngine {
  EngineConfig config;
  uint64_t kv_cache_bytes = 0;
  int64_t kv_tokens = 0;           // that the pool holds, in requests of the full length
  std::vector<std::string> notes;  // decisions that a user should know, a sentence each
};

// kResourceExhausted: not even a short context fits; kInvalidArgument: a flag contradicts the model. Both say
// what to change.
Result<ResolvedEngine> ResolveEngine(const EngineOptions& options, const HardwareFacts& hardware,
                                     const ModelFacts& model);

}  // namespace firebrick
