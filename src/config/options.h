// What a person asked for: one struct per room, filled from flags. Nothing here decides a default that
// depends on the machine or the model; engine/resolve does, and 0 or an empty string leaves the choice to it.
// Plain data; thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "config/setting.h"

namespace firebrick {

// Which model, and how it is computed.
struct ModelOptions {
  std::string model;                            // file, folder or hub name; empty is the default model
  Setting<std::string> isa{"auto"};             // auto, ref, avx2, avx512, amx
  Setting<int32_t> threads{0};                  // 0: affinity mask and cgroup quota decide
  Setting<std::string> kv_cache_dtype{"bf16"};  // bf16, f32
  Setting<bool> time_kernels{true};             // isa auto: which level multiplies is measured, not assumed
};

// How much runs at once, and in how much memory.
struct EngineOptions {
  Setting<uint64_t> kv_cache_memory_bytes{0};     // 0: what is free, less a margin
  Setting<int32_t> max_model_len{0};              // 0: the model's own context
  Setting<int32_t> max_num_seqs{64};              // sequences running at once
  Setting<int32_t> max_num_batched_tokens{2048};  // tokens of one step
  Setting<bool> enable_prefix_caching{true};
};

// Every setting with its value and source, on one line for the log. 0 means that resolve chooses.
std::string DescribeSettings(const ModelOptions& model, const EngineOptions& engine);

}  // namespace firebrick
