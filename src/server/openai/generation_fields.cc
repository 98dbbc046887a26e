// The fields that chat and completions share, and the fields that are known and not honoured.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "server/openai/body_reader.h"

namespace firebrick {
namespace {

constexpr int32_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxTokenIdList = 65'536;
constexpr size_t kMaxSaltBytes = 256;

using Reader = MaybeError (*)(const BodyField&, const BodyLimits&, GenerationFields*);

// Reads a real into an optional.
MaybeError ReadOptional(const BodyField& field, double min, double max, std::optional<double>* out) {
  double value = 0;
  if (MaybeError error = ReadReal(field, min, max, &value)) return error;
  *out = value;
  return std::nullopt;
}

MaybeError ReadTopK(const BodyField& field, const BodyLimits&, GenerationFields* out) {
  int32_t value = 0;
  if (MaybeError error = ReadInt32(field, -1, kMaxInt, &value)) return error;
  out->top_k = std::max(value, 0);  // -1 and 0 both mean: off
  return std::nullopt;
}

MaybeError ReadSeed(const BodyField& field, const BodyLimits&, GenerationFields* out) {
  int64_t value = 0;
  if (MaybeError error = ReadInteger(field, std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max(), &value)) {
    return error;
  }
  out->seed = static_cast<uint64_t>(value);
  return std::nullopt;
}

MaybeError ReadStop(const BodyField& field, const BodyLimits& limits, GenerationFields* out) {
  std::vector<JsonValue> items;
  simdjson::dom::array array;
  if (field.value.get(array) == simdjson::SUCCESS) {
    for (const JsonValue item : array) items.push_back(item);
  } else {
    items.push_back(field.value);
  }
  if (items.size() > static_cast<size_t>(limits.max_stop_strings)) {
    return BadField(field.name, fmt::format("'stop' may have at most {} strings", limits.max_stop_strings));
  }
  out->stop.clear();
  for (const JsonValue& item : items) {
    std::string text;
    if (MaybeError error = ReadText({field.name, item}, &text)) return error;
    if (text.empty()) return BadField(field.name, "'stop' must not hold an empty string");
    if (text.size() > static_cast<size_t>(limits.max_stop_bytes)) {
      return BadField(field.name,
                      fmt::format("a stop string may have at most {} bytes", limits.max_stop_bytes));
    }
    out->stop.push_back(std::move(text));
  }
  return std::nullopt;
}

MaybeError ReadLogitBias(const BodyField& field, const BodyLimits& limits, GenerationFields* out) {
  simdjson::dom::object object;
  if (field.value.get(object) != simdjson::SUCCESS) {
    return BadField(field.name, "'logit_bias' must be an object from token id to bias", "invalid_type");
  }
  out->logit_bias.clear();
  for (const auto& [key, value] : object) {
    if (out->logit_bias.size() == static_cast<size_t>(limits.max_logit_bias)) {
      return BadField(field.name,
                      fmt::format("'logit_bias' may have at most {} entries", limits.max_logit_bias));
    }
    int32_t token = -1;
    const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (fault != std::errc() || end != key.data() + key.size() || token < 0) {
      return BadField(field.name, "the names in 'logit_bias' must be token ids, such as \"1234\"");
    }
    double bias = 0;
    if (MaybeError error = ReadReal({field.name, value}, -100, 100, &bias)) return error;
    out->logit_bias.emplace_back(token, static_cast<float>(bias));
  }
  return std::nullopt;
}

MaybeError ReadStreamOptions(const BodyField& field, const BodyLimits&, GenerationFields* out) {
  simdjson::dom::object object;
  if (field.value.get(object) != simdjson::SUCCESS) {
    return BadField(field.name, "'stream_options' must be an object", "invalid_type");
  }
  for (const auto& [key, value] : object) {
    if (value.is_null()) continue;
    bool flag = false;
    const std::string name = fmt::format("stream_options.{}", key);
    if (key == "include_usage") {
      if (MaybeError error = ReadBool({name, value}, &out->include_usage)) return error;
    } else if (key == "include_obfuscation" || key == "continuous_usage_stats") {
      if (MaybeError error = ReadBool({name, value}, &flag)) return error;
      if (flag) return UnsupportedField(name, "leave it out or false");
    } else {
      return UnsupportedField(name, "the option known here is include_usage");
    }
  }
  return std::nullopt;
}

MaybeError ReadSalt(const BodyField& field, const BodyLimits&, GenerationFields* out) {
  if (MaybeError error = ReadText(field, &out->cache_salt)) return error;
  if (out->cache_salt.empty() || out->cache_salt.size() > kMaxSaltBytes) {
    return BadField(field.name, fmt::format("'cache_salt' must have 1 to {} bytes", kMaxSaltBytes));
  }
  return std::nullopt;
}

struct KnownField {
  std::string_view name;
  Reader read;
};

constexpr std::array kFields = {
    KnownField{"model", [](const BodyField& f, const BodyLimits&,
                           GenerationFields* o) { return ReadText(f, &o->model.emplace()); }},
    KnownField{"temperature", [](const BodyField& f, const BodyLimits&,
                                 GenerationFields* o) { return ReadOptional(f, 0, 100, &o->temperature); }},
    KnownField{"top_p", [](const BodyField& f, const BodyLimits&,
                           GenerationFields* o) { return ReadOptional(f, 0, 1, &o->top_p); }},
    KnownField{"min_p", [](const BodyField& f, const BodyLimits&,
                           GenerationFields* o) { return ReadOptional(f, 0, 1, &o->min_p); }},
    KnownField{"top_k", ReadTopK},
    KnownField{"repetition_penalty",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) {
                 return ReadOptional(f, 0.01, 100, &o->repetition_penalty);
               }},
    KnownField{"presence_penalty",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) {
                 return ReadReal(f, -2, 2, &o->presence_penalty);
               }},
    KnownField{"frequency_penalty",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) {
                 return ReadReal(f, -2, 2, &o->frequency_penalty);
               }},
    KnownField{"seed", ReadSeed},
    KnownField{"n", [](const BodyField& f, const BodyLimits& l,
                       GenerationFields* o) { return ReadInt32(f, 1, l.max_choices, &o->n); }},
    KnownField{"min_tokens", [](const BodyField& f, const BodyLimits&,
                                GenerationFields* o) { return ReadInt32(f, 0, kMaxInt, &o->min_tokens); }},
    KnownField{"ignore_eos", [](const BodyField& f, const BodyLimits&,
                                GenerationFields* o) { return ReadBool(f, &o->ignore_eos); }},
    KnownField{"include_stop_str_in_output",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) {
                 return ReadBool(f, &o->include_stop);
               }},
    KnownField{"skip_special_tokens",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) {
                 return ReadBool(f, &o->skip_special_tokens);
               }},
    KnownField{"stop", ReadStop},
    KnownField{"stop_token_ids",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) {
                 return ReadTokenIds(f, 256, &o->stop_token_ids);
               }},
    KnownField{"allowed_token_ids",
               [](const BodyField& f, const BodyLimits&, GenerationFields* o) -> MaybeError {
                 if (MaybeError error = ReadTokenIds(f, kMaxTokenIdList, &o->allowed_token_ids)) return error;
                 if (o->allowed_token_ids.empty())
                   return BadField(f.name, "'allowed_token_ids' must not be empty");
                 return std::nullopt;
               }},
    KnownField{"logit_bias", ReadLogitBias},
    KnownField{"stream", [](const BodyField& f, const BodyLimits&,
                            GenerationFields* o) { return ReadBool(f, &o->stream); }},
    KnownField{"stream_options", ReadStreamOptions},
    KnownField{"cache_salt", ReadSalt},
    KnownField{"priority", [](const BodyField& f, const BodyLimits&,
                              GenerationFields* o) { return ReadInt32(f, -kMaxInt, kMaxInt, &o->priority); }},
};

// Change nothing in the answer, whatever they say.
constexpr std::array<std::string_view, 6> kIgnored = {
    "user", "metadata", "safety_identifier", "service_tier", "prompt_cache_key", "prompt_cache_retention"};

bool IsText(const JsonValue& value, std::initializer_list<std::string_view> texts) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS && std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool IsEmptyOrFalse(const JsonValue& value) {
  bool flag = true;
  if (value.get(flag) == simdjson::SUCCESS) return !flag;
  simdjson::dom::array array;
  if (value.get(array) == simdjson::SUCCESS) return array.begin() == array.end();
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS && text.empty();
}

// A field that is not honoured but asks for what is done anyway.
bool AsksForNothing(const BodyField& field) {
  const JsonValue& value = field.value;
  if (IsEmptyOrFalse(value)) return true;
  if (field.name == "response_format") {
    JsonValue type;
    return value.is_object() && value.at_key("type").get(type) == simdjson::SUCCESS && IsText(type, {"text"});
  }
  if (field.name == "tool_choice" || field.name == "function_call") return IsText(value, {"none", "auto"});
  if (field.name == "parallel_tool_calls") return value.is_bool();
  if (field.name == "best_of") {
    int64_t count = 0;
    return value.get(count) == simdjson::SUCCESS && count == 1;
  }
  if (field.name == "spaces_between_special_tokens") return value.is_bool();
  if (field.name == "modalities") {
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS) return false;
    return std::all_of(array.begin(), array.end(),
                       [](const JsonValue& item) { return IsText(item, {"text"}); });
  }
  return false;
}

}  // namespace

MaybeError ReadGenerationField(const BodyField& field, const BodyLimits& limits, GenerationFields* out,
                               bool* known) {
  const auto found = std::find_if(kFields.begin(), kFields.end(),
                                  [&](const KnownField& entry) { return entry.name == field.name; });
  *known = found != kFields.end();
  return *known ? found->read(field, limits, out) : std::nullopt;
}

MaybeError RefuseOrIgnore(const BodyField& field) {
  if (std::find(kIgnored.begin(), kIgnored.end(), field.name) != kIgnored.end()) return std::nullopt;
  static constexpr std::array<std::string_view, 30> kRefused = {"tools",
                                                                "tool_choice",
                                                                "parallel_tool_calls",
                                                                "functions",
                                                                "function_call",
                                                                "response_format",
                                                                "structured_outputs",
                                                                "guided_json",
                                                                "guided_regex",
                                                                "guided_choice",
                                                                "guided_grammar",
                                                                "suffix",
                                                                "best_of",
                                                                "use_beam_search",
                                                                "prompt_logprobs",
                                                                "truncate_prompt_tokens",
                                                                "bad_words",
                                                                "logits_processors",
                                                                "store",
                                                                "modalities",
                                                                "audio",
                                                                "prediction",
                                                                "web_search_options",
                                                                "reasoning_effort",
                                                                "verbosity",
                                                                "chat_template",
                                                                "documents",
                                                                "kv_transfer_params",
                                                                "spaces_between_special_tokens",
                                                                "thinking_token_budget"};
  if (std::find(kRefused.begin(), kRefused.end(), field.name) != kRefused.end()) {
    if (AsksForNothing(field)) return std::nullopt;
    return UnsupportedField(field.name, "this server does not do it; leave the field out");
  }
  return UnsupportedField(field.name,
                          "the field is unknown here; see docs/guide/api.md for the fields that are taken");
}

MaybeError CheckTogether(const GenerationFields& fields, bool has_stream_options) {
  if (has_stream_options && !fields.stream) {
    return BadField("stream_options", "'stream_options' may be given only where 'stream' is true");
  }
  if (fields.max_tokens && fields.min_tokens > *fields.max_tokens) {
    return BadField("min_tokens", "'min_tokens' must not exceed the largest number of tokens asked for");
  }
  return std::nullopt;
}

}  // namespace firebrick
