// UTF-8: validation at the edge, and where a character ends. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace firebrick {

inline constexpr size_t kUtf8Valid = static_cast<size_t>(-1);

// Byte offset of the first ill-formed sequence (RFC 3629: no surrogates, no overlong forms, nothing above
// U+10FFFF), or kUtf8Valid.
size_t FindInvalidUtf8(std::string_view text);
inline bool IsValidUtf8(std::string_view text) { return FindInvalidUtf8(text) == kUtf8Valid; }

// What stands at the start of a byte string.
enum class Utf8Step : uint8_t {
  kCharacter,   // one whole character of `length` bytes
  kIncomplete,  // a true beginning of a character, cut by the end of the text
  kInvalid,  // `length` bytes (1 to 3) that can never become a character: the maximal subpart of Unicode 3.9
};
struct Utf8Scan {
  Utf8Step step = Utf8Step::kIncomplete;
  size_t length = 0;
  uint32_t code_point = 0;  // only for kCharacter
};
Utf8Scan ScanUtf8(std::string_view text);

void AppendUtf8(uint32_t code_point, std::string* out);

}  // namespace firebrick
