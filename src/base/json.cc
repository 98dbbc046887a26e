#include "base/json.h"

#include "base/utf8.h"

namespace firebrick {
namespace {

// Finds nesting deeper than the limit without recursion, so that hostile depth never reaches the parser's
// stack.
bool TooDeep(std::string_view text, size_t max_depth, size_t* at) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') {
      if (++depth > max_depth) {
        *at = i;
        return true;
      }
    }
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return false;
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  *out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      case '\b':
        *out += "\\b";
        break;
      case '\f':
        *out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          *out += "\\u00";
          *out += kDigits[c >> 4];
          *out += kDigits[c & 15];
        } else {
          *out += c;
        }
    }
  }
  *out += '"';
}

Result<Json> ParseJson(std::string_view text, size_t max_depth) {
  if (const size_t bad = FindInvalidUtf8(text); bad != kUtf8Valid) {
    return InvalidArgument("JSON is not valid UTF-8 at byte {}", bad);
  }
  size_t at = 0;
  if (TooDeep(text, max_depth, &at)) {
    return InvalidArgument("JSON is nested deeper than {} levels at byte {}", max_depth, at);
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("JSON does not parse: {}", error.what());
  }
}

}  // namespace firebrick
