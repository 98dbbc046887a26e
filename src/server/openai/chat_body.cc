#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json.h"
#include "server/openai/body_reader.h"

namespace firebrick {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"system", "developer", "user", "assistant"};

std::string Where(size_t index, std::string_view field) {
  return fmt::format("messages[{}].{}", index, field);
}

bool IsEmpty(const Json& value) { return value.is_null() || (value.is_array() && value.empty()); }

// A list of parts becomes one string, its texts joined by line breaks (as vLLM does for templates that take
// strings).
MaybeError JoinParts(size_t index, const Json& parts, std::string* out) {
  bool first = true;
  for (const Json& part : parts) {
    const std::string type = part.is_object() ? part.value("type", "") : "";
    if (type != "text" || !part.contains("text") || !part["text"].is_string()) {
      return UnsupportedField(Where(index, "content"),
                              "the parts of a message must be of the type 'text', with a text");
    }
    if (!first) out->push_back('\n');
    first = false;
    out->append(part["text"].get_ref<const std::string&>());
  }
  return std::nullopt;
}

MaybeError CheckContent(size_t index, const std::string& role, Json* message) {
  Json& content = (*message)["content"];
  if (content.is_array()) {
    std::string joined;
    if (MaybeError error = JoinParts(index, content, &joined)) return error;
    content = std::move(joined);
  }
  if (content.is_null() && role == "assistant") content = "";
  if (!content.is_string()) {
    return BadField(Where(index, "content"),
                    fmt::format("'{}' must be a string or a list of text parts", Where(index, "content")),
                    "invalid_type");
  }
  return std::nullopt;
}

// Leaves only what templates read: role, content, name, reasoning_content.
MaybeError CheckMessage(size_t index, Json* message) {
  const std::string where = fmt::format("messages[{}]", index);
  if (!message->is_object())
    return BadField(where, fmt::format("'{}' must be an object", where), "invalid_type");
  const auto role_found = message->find("role");
  if (role_found == message->end() || !role_found->is_string()) {
    return BadField(Where(index, "role"), fmt::format("'{}' must be a string", Where(index, "role")),
                    "invalid_type");
  }
  std::string role = role_found->get<std::string>();
  if (role == "tool" || role == "function") {
    return UnsupportedField(Where(index, "role"),
                            fmt::format("messages of the role '{}' are not taken", role));
  }
  if (std::find(kRoles.begin(), kRoles.end(), role) == kRoles.end()) {
    return BadField(Where(index, "role"),
                    fmt::format("'{}' must be system, developer, user or assistant", Where(index, "role")));
  }
  if (role == "developer") *role_found = "system";  // templates know the older name
  for (auto entry = message->begin(); entry != message->end();) {
    const std::string& name = entry.key();
    const bool text_field = name == "name" || name == "reasoning_content";
    if (name == "role" || name == "content" || (text_field && entry->is_string())) {
      ++entry;
    } else if (IsEmpty(*entry)) {
      entry = message->erase(entry);
    } else if (text_field) {
      return BadField(Where(index, name), fmt::format("'{}' must be a string", Where(index, name)),
                      "invalid_type");
    } else {
      return UnsupportedField(Where(index, name),
                              "a message may have role, content, name and reasoning_content");
    }
  }
  return CheckContent(index, role, message);
}

MaybeError ReadMessages(const BodyField& field, const BodyLimits& limits, Json* out) {
  simdjson::dom::array array;
  if (field.value.get(array) != simdjson::SUCCESS) {
    return BadField("messages", "'messages' must be a list of messages", "invalid_type");
  }
  *out = Json::array();
  size_t index = 0;
  for (const JsonValue item : array) {
    if (index == static_cast<size_t>(limits.max_messages)) {
      return BadField("messages", fmt::format("'messages' may have at most {} entries", limits.max_messages));
    }
    const std::string where = fmt::format("messages[{}]", index);
    out->emplace_back();
    if (MaybeError error = ReadAny({where, item}, &out->back())) return error;
    if (MaybeError error = CheckMessage(index, &out->back())) return error;
    ++index;
  }
  if (index == 0) return BadField("messages", "'messages' must not be empty");
  return std::nullopt;
}

struct ChatState {
  ChatBody* out;
  bool logprobs = false;
  std::optional<int32_t> top_logprobs;
  std::optional<int32_t> max_tokens;
  std::optional<int32_t> max_completion_tokens;
  bool has_stream_options = false;
};

MaybeError ReadCap(const BodyField& field, std::optional<int32_t>* out) {
  return ReadInt32(field, 1, std::numeric_limits<int32_t>::max(), &out->emplace());
}

MaybeError ReadChatField(const BodyField& field, const BodyLimits& limits, ChatState* state) {
  ChatBody* out = state->out;
  if (field.name == "messages") return ReadMessages(field, limits, &out->messages);
  if (field.name == "max_tokens") return ReadCap(field, &state->max_tokens);
  if (field.name == "max_completion_tokens") return ReadCap(field, &state->max_completion_tokens);
  if (field.name == "logprobs") return ReadBool(field, &state->logprobs);
  if (field.name == "top_logprobs")
    return ReadInt32(field, 0, limits.max_logprobs, &state->top_logprobs.emplace());
  if (field.name == "add_generation_prompt") return ReadBool(field, &out->add_generation_prompt.emplace());
  if (field.name == "continue_final_message") return ReadBool(field, &out->continue_final_message);
  if (field.name == "chat_template_kwargs") {
    if (!field.value.is_object())
      return BadField(field.name, "'chat_template_kwargs' must be an object", "invalid_type");
    return ReadAny(field, &out->template_kwargs);
  }
  if (field.name == "echo" || field.name == "add_special_tokens") {
    bool flag = false;
    if (MaybeError error = ReadBool(field, &flag)) return error;
    return flag ? MaybeError(UnsupportedField(field.name, "it belongs to /v1/completions")) : std::nullopt;
  }
  if (field.name == "stream_options") state->has_stream_options = true;
  bool known = false;
  if (MaybeError error = ReadGenerationField(field, limits, &out->fields, &known)) return error;
  return known ? std::nullopt : RefuseOrIgnore(field);
}

}  // namespace

std::optional<ApiError> ParseChatBody(std::string_view body, const BodyLimits& limits, ChatBody* out) {
  BodyParser parser;
  if (MaybeError error = parser.Parse(body, limits.max_json_depth)) return error;
  ChatState state{.out = out, .top_logprobs = {}, .max_tokens = {}, .max_completion_tokens = {}};
  for (const BodyField& field : parser.TakeFields()) {
    if (MaybeError error = ReadChatField(field, limits, &state)) return error;
  }
  if (out->messages.is_null()) return BadField("messages", "'messages' is missing", "missing_field");
  if (state.top_logprobs && !state.logprobs) {
    return BadField("top_logprobs", "'top_logprobs' needs 'logprobs' to be true");
  }
  if (state.logprobs) out->fields.num_logprobs = state.top_logprobs.value_or(0);
  out->fields.max_tokens = state.max_completion_tokens ? state.max_completion_tokens : state.max_tokens;
  if (out->continue_final_message && out->add_generation_prompt.value_or(false)) {
    return BadField("continue_final_message",
                    "'continue_final_message' and 'add_generation_prompt' exclude each other");
  }
  return CheckTogether(out->fields, state.has_stream_options);
}

}  // namespace firebrick
