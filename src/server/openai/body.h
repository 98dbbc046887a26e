// Request bodies of /v1/chat/completions and /v1/completions as native structs.
// Every field is honoured, refused by name, or on the documented list of ignored ones (docs/guide/api.md).
// Thread: any; values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "server/api_error.h"

namespace firebrick {

struct BodyLimits {
  int max_json_depth = 100;
  int max_choices = 128;  // the field n
  int max_fan_out = 512;  // prompts times n
  int max_logprobs = 20;  // logprobs, top_logprobs
  int max_messages = 10'000;
  int max_logit_bias = 1024;  // entries
  int max_stop_strings = 64;
  int max_stop_bytes = 1024;  // of each stop string
};

// What both endpoints take. Absent means: the model's default, else the server's.
struct GenerationFields {
  std::optional<std::string> model;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int32_t> top_k;  // 0: off
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::optional<uint64_t> seed;
  int32_t n = 1;
  std::optional<int32_t> max_tokens;
  int32_t min_tokens = 0;
  bool ignore_eos = false;
  bool include_stop = false;
  bool skip_special_tokens = true;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::vector<int32_t> allowed_token_ids;
  int32_t num_logprobs = -1;  // -1: none
  bool stream = false;
  bool include_usage = false;
  std::string cache_salt;
  int32_t priority = 0;
};

struct ChatBody {
  GenerationFields fields;
  Json messages;         // checked: a list of objects, text only, each with a role
  Json template_kwargs;  // object or null
  std::optional<bool> add_generation_prompt;
  bool continue_final_message = false;
};

struct CompletionBody {
  GenerationFields fields;
  std::vector<std::variant<std::string, std::vector<int32_t>>> prompts;  // at least one
  bool echo = false;
  bool add_special_tokens = true;
};

// Fill *out, or say what is wrong.
std::optional<ApiError> ParseChatBody(std::string_view body, const BodyLimits& limits, ChatBody* out);
std::optional<ApiError> ParseCompletionBody(std::string_view body, const BodyLimits& limits,
                                            CompletionBody* out);

}  // namespace firebrick
