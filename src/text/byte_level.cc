#include "text/byte_level.h"

#include <array>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/unicode_class.h"

namespace firebrick {
namespace {

// Printable Latin-1 stands for itself; the other 68 bytes are, in order, U+0100 onwards.
struct Alphabet {
  std::array<std::string, 256> char_of_byte;
  std::array<int16_t, 0x144> byte_of_char;
};

Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.byte_of_char.fill(-1);
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    const uint32_t code = printable ? byte : next++;
    AppendUtf8(code, &alphabet.char_of_byte[byte]);
    alphabet.byte_of_char[code] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

const Alphabet& GetAlphabet() {
  static const Alphabet alphabet = MakeAlphabet();
  return alphabet;
}

}  // namespace

void AppendByteLevel(unsigned char byte, std::string* out) { *out += GetAlphabet().char_of_byte[byte]; }

std::string ToByteLevel(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) AppendByteLevel(static_cast<unsigned char>(c), &out);
  return out;
}

std::optional<std::string> FromByteLevel(std::string_view text) {
  const Alphabet& alphabet = GetAlphabet();
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const Char c = DecodeChar(text.data() + pos);
    pos += c.length;
    if (c.code_point >= alphabet.byte_of_char.size() || alphabet.byte_of_char[c.code_point] < 0)
      return std::nullopt;
    out += static_cast<char>(alphabet.byte_of_char[c.code_point]);
  }
  return out;
}

std::optional<uint8_t> ParseByteToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return static_cast<uint8_t>(value);
}

std::string ByteToken(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace firebrick
