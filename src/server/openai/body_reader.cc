#include "server/openai/body_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"

namespace firebrick {
namespace {

using simdjson::dom::element_type;

// Of one object: the ordered JSON that templates read looks members up one after another.
constexpr size_t kMaxMembers = 1024;

std::string_view KindName(const JsonValue& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

ApiError WrongKind(const BodyField& field, std::string_view wanted) {
  return BadField(field.name,
                  fmt::format("'{}' must be {}, not {}", field.name, wanted, KindName(field.value)),
                  "invalid_type");
}

ApiError OutOfRange(const BodyField& field, const std::string& min, const std::string& max) {
  return BadField(field.name, fmt::format("'{}' must lie between {} and {}", field.name, min, max));
}

// Whole numbers written as 5.0 count.
std::optional<int64_t> AsInteger(const JsonValue& value) {
  int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS) return whole;
  double real = 0;
  if (value.is_double() && value.get(real) == simdjson::SUCCESS && std::trunc(real) == real &&
      std::abs(real) < 9e18) {
    return static_cast<int64_t>(real);
  }
  return std::nullopt;
}

ApiError NotUtf8(std::string_view name) {
  return BadField(
      name, fmt::format("'{}' holds text that is no valid Unicode, such as half of a surrogate pair", name),
      "invalid_unicode");
}

// The code unit of a \uXXXX escape at the start of `text`; nullopt where there is none.
std::optional<uint32_t> CodeUnit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  uint32_t unit = 0;
  const auto [end, fault] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return fault == std::errc() && end == text.data() + 6 ? std::optional(unit) : std::nullopt;
}

// Whether the escape at the start of `text` is a good one; its length in *length.
bool IsGoodEscape(std::string_view text, size_t* length) {
  *length = 2;
  if (text.size() < 2) return false;
  if (text[1] != 'u') return std::string_view("\"\\/bfnrt").find(text[1]) != std::string_view::npos;
  const std::optional<uint32_t> unit = CodeUnit(text);
  if (!unit) return false;
  *length = 6;
  if (*unit < 0xD800 || *unit > 0xDFFF) return true;
  const std::optional<uint32_t> low = CodeUnit(text.substr(6));
  *length = 12;
  return *unit < 0xDC00 && low && *low >= 0xDC00 && *low <= 0xDFFF;
}

// The member of the outermost object in which the first string with a bad escape stands: simdjson does not
// say.
std::string_view FieldOfBadString(std::string_view body) {
  std::string_view field;
  int depth = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '{' || body[i] == '[') ++depth;
    if (body[i] == '}' || body[i] == ']') --depth;
    if (body[i] != '"') continue;
    const size_t begin = ++i;
    while (i < body.size() && body[i] != '"') {
      size_t length = 1;
      if (body[i] == '\\' && !IsGoodEscape(body.substr(i), &length)) return field;
      i += length;
    }
    const size_t next = body.find_first_not_of(" \t\r\n", i + 1);
    const bool is_name = depth == 1 && next != std::string_view::npos && body[next] == ':';
    if (is_name) field = body.substr(begin, i - begin);
  }
  return {};
}

MaybeError ConvertAny(const BodyField& field, const JsonValue& value, Json* out);

MaybeError ConvertObject(const BodyField& field, const simdjson::dom::object& object, Json* out) {
  *out = Json::object();
  for (const auto& [key, member] : object) {
    if (out->size() == kMaxMembers) {
      return BadField(field.name,
                      fmt::format("an object in '{}' has more than {} members", field.name, kMaxMembers));
    }
    if (!IsValidUtf8(key)) return NotUtf8(field.name);
    Json converted;
    if (MaybeError error = ConvertAny(field, member, &converted)) return error;
    (*out)[std::string(key)] = std::move(converted);
  }
  return std::nullopt;
}

MaybeError ConvertAny(const BodyField& field, const JsonValue& value, Json* out) {
  switch (value.type()) {
    case element_type::OBJECT:
      return ConvertObject(field, value.get_object().value_unsafe(), out);
    case element_type::ARRAY: {
      *out = Json::array();
      const simdjson::dom::array array = value.get_array().value_unsafe();
      for (const JsonValue item : array) {
        out->emplace_back();
        if (MaybeError error = ConvertAny(field, item, &out->back())) return error;
      }
      return std::nullopt;
    }
    case element_type::STRING: {
      const std::string_view text = value.get_string().value_unsafe();
      if (!IsValidUtf8(text)) return NotUtf8(field.name);
      *out = std::string(text);
      return std::nullopt;
    }
    case element_type::INT64:
      *out = int64_t(value);
      return std::nullopt;
    case element_type::UINT64:
      *out = uint64_t(value);
      return std::nullopt;
    case element_type::DOUBLE:
      *out = double(value);
      return std::nullopt;
    case element_type::BOOL:
      *out = bool(value);
      return std::nullopt;
    case element_type::NULL_VALUE:
      *out = nullptr;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

MaybeError BodyParser::Parse(std::string_view body, int max_depth) {
  const size_t invalid = FindInvalidUtf8(body);
  if (invalid != kUtf8Valid) {
    return BadField("", fmt::format("the body is not valid UTF-8 at byte {}", invalid), "invalid_unicode");
  }
  // simdjson reads a little past the end.
  padded_.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  padded_.assign(body);
  if (parser_.allocate(std::max<size_t>(body.size(), 64), static_cast<size_t>(max_depth)) !=
      simdjson::SUCCESS) {
    return FromStatus(Status(StatusCode::kUnavailable, "no memory to parse the body"));
  }
  simdjson::dom::element root;
  const auto error = parser_.parse(padded_.data(), padded_.size(), false).get(root);
  if (error == simdjson::DEPTH_ERROR) {
    return BadField("", fmt::format("the JSON is nested deeper than {} levels", max_depth), "invalid_json");
  }
  if (error == simdjson::STRING_ERROR) {
    const std::string_view field = FieldOfBadString(body);
    return BadField(
        field, fmt::format("'{}' holds a bad escape, such as half of a surrogate pair", field.substr(0, 100)),
        "invalid_unicode");
  }
  if (error != simdjson::SUCCESS) {
    return BadField("", fmt::format("the body is not valid JSON: {}", simdjson::error_message(error)),
                    "invalid_json");
  }
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS)
    return BadField("", "the body must be a JSON object", "invalid_json");
  std::unordered_set<std::string_view> seen;
  for (const auto& [name, value] : object) {
    if (!IsValidUtf8(name)) return NotUtf8("");
    if (!seen.insert(name).second) return BadField(name, fmt::format("'{}' is given twice", name));
    if (!value.is_null()) fields_.push_back({name, value});
  }
  return std::nullopt;
}

MaybeError ReadBool(const BodyField& field, bool* out) {
  if (field.value.get(*out) != simdjson::SUCCESS) return WrongKind(field, "a boolean");
  return std::nullopt;
}

MaybeError ReadInteger(const BodyField& field, int64_t min, int64_t max, int64_t* out) {
  if (!field.value.is_number()) return WrongKind(field, "an integer");
  const std::optional<int64_t> value = AsInteger(field.value);
  if (!value)
    return BadField(field.name, fmt::format("'{}' must be an integer of 64 bits", field.name),
                    "invalid_type");
  if (*value < min || *value > max) return OutOfRange(field, std::to_string(min), std::to_string(max));
  *out = *value;
  return std::nullopt;
}

MaybeError ReadInt32(const BodyField& field, int32_t min, int32_t max, int32_t* out) {
  int64_t value = 0;
  if (MaybeError error = ReadInteger(field, min, max, &value)) return error;
  *out = static_cast<int32_t>(value);
  return std::nullopt;
}

MaybeError ReadReal(const BodyField& field, double min, double max, double* out) {
  if (!field.value.is_number()) return WrongKind(field, "a number");
  double value = 0;
  if (field.value.get(value) != simdjson::SUCCESS) return WrongKind(field, "a number");
  if (!(value >= min && value <= max))
    return OutOfRange(field, fmt::format("{}", min), fmt::format("{}", max));
  *out = value;
  return std::nullopt;
}

MaybeError ReadText(const BodyField& field, std::string* out) {
  std::string_view text;
  if (field.value.get(text) != simdjson::SUCCESS) return WrongKind(field, "a string");
  if (!IsValidUtf8(text)) return NotUtf8(field.name);
  *out = text;
  return std::nullopt;
}

MaybeError ReadTokenIds(const BodyField& field, size_t max_count, std::vector<int32_t>* out) {
  simdjson::dom::array array;
  if (field.value.get(array) != simdjson::SUCCESS) return WrongKind(field, "a list of token ids");
  out->clear();
  for (const JsonValue item : array) {
    if (out->size() == max_count) {
      return BadField(field.name, fmt::format("'{}' may have at most {} token ids", field.name, max_count));
    }
    int32_t id = 0;
    if (MaybeError error = ReadInt32({field.name, item}, 0, std::numeric_limits<int32_t>::max(), &id))
      return error;
    out->push_back(id);
  }
  return std::nullopt;
}

MaybeError ReadAny(const BodyField& field, Json* out) { return ConvertAny(field, field.value, out); }

}  // namespace firebrick
