// How a token is chosen. Plain data; thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace firebrick {

// Applied in this order: logit bias, allowed ids, penalties, temperature, top-k, min-p, top-p, draw.
// Temperature 0 is greedy: the largest logit, ties to the lowest id.
// Source: ../shared/reference/user-asks-and-conventions.md, "Request fields beyond OpenAI".
struct SamplingParams {
  float temperature = 1.0F;         // 0 = greedy
  int32_t top_k = 0;                // 0 = off
  float top_p = 1.0F;               // (0, 1]
  float min_p = 0.0F;               // [0, 1]: drops tokens below min_p times the largest probability
  float repetition_penalty = 1.0F;  // > 0; over prompt and output
  float presence_penalty = 0.0F;    // over the output
  float frequency_penalty = 0.0F;   // over the output
  uint64_t seed = 0;                // the draw at output position p is keyed by (seed, choice, p)
  uint32_t choice = 0;              // index of the choice, for n > 1
  std::vector<std::pair<int32_t, float>> logit_bias;  // token, added to its logit
  std::vector<int32_t> allowed_token_ids;             // empty = all
  int32_t num_logprobs = -1;                          // -1 none, 0 the chosen token's only, k also the k best
  int32_t num_prompt_logprobs = -1;                   // the same for prompt tokens
};

// When a request ends.
struct StopRules {
  int32_t max_tokens = 16;
  int32_t min_tokens = 0;                 // until then, stop ids are masked out of the logits
  std::vector<int32_t> stop_token_ids;    // end-of-sequence ids included, unless the caller ignores them
  std::vector<std::string> stop_strings;  // matched on text, over token borders
  bool include_stop_string = false;
};

}  // namespace firebrick
