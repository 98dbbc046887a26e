#include "base/utf8.h"

#include "base/status.h"

namespace firebrick {

Utf8Scan ScanUtf8(std::string_view text) {
  if (text.empty()) return {};
  const auto byte_at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte_at(0);
  if (lead < 0x80) return {Utf8Step::kCharacter, 1, lead};
  size_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;  // limits of the second byte: they exclude overlong forms, surrogates, and > U+10FFFF
  uint32_t code_point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code_point = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code_point = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code_point = lead & 0x07;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {Utf8Step::kInvalid, 1, 0};
  }
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size()) return {Utf8Step::kIncomplete, i, 0};
    const uint8_t byte = byte_at(i);
    if (byte < low || byte > high) return {Utf8Step::kInvalid, i, 0};
    low = 0x80;
    high = 0xBF;
    code_point = code_point << 6 | (byte & 0x3F);
  }
  return {Utf8Step::kCharacter, length, code_point};
}

size_t FindInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Scan scan = ScanUtf8(text.substr(at));
    if (scan.step != Utf8Step::kCharacter) return at;
    at += scan.length;
  }
  return kUtf8Valid;
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  CHECK(code_point <= 0x10FFFF);
  if (code_point < 0x80) {
    *out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    *out += static_cast<char>(0xC0 | code_point >> 6);
    *out += static_cast<char>(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    *out += static_cast<char>(0xE0 | code_point >> 12);
    *out += static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
    *out += static_cast<char>(0x80 | (code_point & 0x3F));
  } else {
    *out += static_cast<char>(0xF0 | code_point >> 18);
    *out += static_cast<char>(0x80 | (code_point >> 12 & 0x3F));
    *out += static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
    *out += static_cast<char>(0x80 | (code_point & 0x3F));
  }
}

}  // namespace firebrick
