// Settings of the scheduler. Plain data, const after Resolve.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kv_view.h"

namespace firebrick {

struct SchedulerConfig {
  int32_t num_blocks = 0;           // pages of the arena
  std::vector<KvGroupSpec> groups;  // layer groups; a sequence holds blocks in each
  int32_t max_model_len = 0;        // prompt + output tokens of one request
  int32_t max_num_seqs = 64;        // sequences running at once; also the number of slots
  // Tokens of one step: decodes first, then prefill chunks. At least max_num_seqs + 32 are used, so that a
  // full batch of decodes cannot starve prefill.
  int32_t max_num_batched_tokens = 2048;
  // Aim for the time of a step that carries decodes: prefill chunks are cut to the measured speed, so this
  // bounds the gap between tokens while prompts come in. Where decodes alone take more than half of it, twice
  // their time is aimed at. 0 = off. Too small: prefill crawls (never below 8 tokens a step); too large:
  // streams stutter. Changes speed only, never results.
  double target_step_ms = 100.0;
  int32_t max_num_queued = 1024;  // requests waiting beyond max_num_seqs; more are refused
  bool enable_prefix_caching = true;
  // Root of all prefix keys: NumericsId, weight digest, KV format. Different roots never share KV.
  std::vector<uint8_t> key_root;
};

}  // namespace firebrick
