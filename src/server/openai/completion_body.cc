#include <fmt/format.h>

#include "server/openai/body_reader.h"

namespace firebrick {
namespace {

constexpr size_t kMaxPromptIds = 8U << 20U;

// A string, a list of token ids, a list of strings, or a list of lists of token ids.
MaybeError ReadPrompt(const BodyField& field, const BodyLimits& limits, CompletionBody* out) {
  simdjson::dom::array array;
  if (field.value.get(array) != simdjson::SUCCESS) {
    std::string text;
    if (!field.value.is_string()) {
      return BadField("prompt", "'prompt' must be a string, a list of token ids, or a list of either",
                      "invalid_type");
    }
    if (MaybeError error = ReadText(field, &text)) return error;
    out->prompts.emplace_back(std::move(text));
    return std::nullopt;
  }
  if (array.begin() == array.end()) return BadField("prompt", "'prompt' must not be empty");
  if ((*array.begin()).is_number()) {
    std::vector<int32_t> ids;
    if (MaybeError error = ReadTokenIds(field, kMaxPromptIds, &ids)) return error;
    out->prompts.emplace_back(std::move(ids));
    return std::nullopt;
  }
  for (const JsonValue item : array) {
    if (out->prompts.size() == static_cast<size_t>(limits.max_fan_out)) {
      return BadField("prompt", fmt::format("'prompt' may hold at most {} prompts", limits.max_fan_out));
    }
    if (item.is_string()) {
      std::string text;
      if (MaybeError error = ReadText({field.name, item}, &text)) return error;
      out->prompts.emplace_back(std::move(text));
    } else {
      std::vector<int32_t> ids;
      if (MaybeError error = ReadTokenIds({field.name, item}, kMaxPromptIds, &ids)) return error;
      if (ids.empty()) return BadField("prompt", "a list of token ids in 'prompt' must not be empty");
      out->prompts.emplace_back(std::move(ids));
    }
  }
  return std::nullopt;
}

MaybeError ReadCompletionField(const BodyField& field, const BodyLimits& limits, CompletionBody* out) {
  if (field.name == "prompt") return ReadPrompt(field, limits, out);
  if (field.name == "max_tokens") {
    return ReadInt32(field, 0, std::numeric_limits<int32_t>::max(), &out->fields.max_tokens.emplace());
  }
  if (field.name == "logprobs") {
    bool flag = false;
    if (field.value.get(flag) == simdjson::SUCCESS && !flag) return std::nullopt;
    return ReadInt32(field, 0, limits.max_logprobs, &out->fields.num_logprobs);
  }
  if (field.name == "echo") return ReadBool(field, &out->echo);
  if (field.name == "add_special_tokens") return ReadBool(field, &out->add_special_tokens);
  bool known = false;
  if (MaybeError error = ReadGenerationField(field, limits, &out->fields, &known)) return error;
  return known ? std::nullopt : RefuseOrIgnore(field);
}

}  // namespace

std::optional<ApiError> ParseCompletionBody(std::string_view body, const BodyLimits& limits,
                                            CompletionBody* out) {
  BodyParser parser;
  if (MaybeError error = parser.Parse(body, limits.max_json_depth)) return error;
  bool has_stream_options = false;
  for (const BodyField& field : parser.TakeFields()) {
    has_stream_options |= field.name == "stream_options";
    if (MaybeError error = ReadCompletionField(field, limits, out)) return error;
  }
  if (out->prompts.empty()) return BadField("prompt", "'prompt' is missing", "missing_field");
  if (out->prompts.size() * static_cast<size_t>(out->fields.n) > static_cast<size_t>(limits.max_fan_out)) {
    return BadField("n", fmt::format("prompts times 'n' may be at most {}", limits.max_fan_out));
  }
  return CheckTogether(out->fields, has_stream_options);
}

}  // namespace firebrick
