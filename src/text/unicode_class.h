// What a character is, as the regular expressions of pre-tokenizers ask: Unicode 16 (Oniguruma's version,
// which is what Hugging Face's tokenizers uses). Thread: any; the table is built once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace firebrick {

// Bits of a character's classes.
namespace char_class {
inline constexpr uint16_t kLetter = 1 << 0;       // \p{L}
inline constexpr uint16_t kUpperish = 1 << 1;     // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
inline constexpr uint16_t kLowerish = 1 << 2;     // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
inline constexpr uint16_t kMark = 1 << 3;         // \p{M}
inline constexpr uint16_t kNumber = 1 << 4;       // \p{N}
inline constexpr uint16_t kPunctuation = 1 << 5;  // \p{P}
inline constexpr uint16_t kSymbol = 1 << 6;       // \p{S}
inline constexpr uint16_t kSpace = 1 << 7;        // \s: White_Space
inline constexpr uint16_t kNewline = 1 << 8;      // CR, LF
inline constexpr uint16_t kWord = 1 << 9;         // \w
inline constexpr uint16_t kInert = 1 << 10;       // normalisation must leave it alone
}  // namespace char_class

class CharClasses {
 public:
  static const CharClasses& Get();
  uint16_t Of(uint32_t code_point) const {
    return blocks_[(size_t{block_of_[code_point >> 8]} << 8) | (code_point & 255)];
  }

 private:
  CharClasses();
  uint16_t block_of_[0x1100] = {};
  uint16_t blocks_[512 * 256] = {};
};

// One character of valid UTF-8.
struct Char {
  uint32_t code_point = 0;
  uint32_t length = 0;  // bytes
};
inline Char DecodeChar(const char* text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  if (p[0] < 0x80) return {p[0], 1};
  if (p[0] < 0xe0) return {(p[0] & 0x1fU) << 6 | (p[1] & 0x3fU), 2};
  if (p[0] < 0xf0) return {(p[0] & 0x0fU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU), 3};
  return {(p[0] & 0x07U) << 18 | (p[1] & 0x3fU) << 12 | (p[2] & 0x3fU) << 6 | (p[3] & 0x3fU), 4};
}
// The length of a character by its first byte.
inline size_t CharLength(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
// The character that ends at `end` > 0.
inline Char DecodeCharBefore(std::string_view text, size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  return DecodeChar(text.data() + end);
}

}  // namespace firebrick
