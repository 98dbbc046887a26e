#include "weights/printable.h"

#include <algorithm>

#include "base/utf8.h"

namespace firebrick {
namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string Printable(std::string_view text, size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const Utf8Scan scan = ScanUtf8(text);
    const size_t length = std::clamp<size_t>(scan.length, 1, text.size());
    if (out.size() + length > max_bytes) return out + "...";
    const bool usable = scan.step == Utf8Step::kCharacter && !IsControl(text[0]) &&
                        (scan.code_point < 0x80 || scan.code_point >= 0xA0);
    if (usable) {
      out += text.substr(0, length);
    } else {
      out += '?';
    }
    text.remove_prefix(length);
  }
  return out;
}

bool IsCleanName(std::string_view name, size_t max_bytes) {
  return !name.empty() && name.size() <= max_bytes && IsValidUtf8(name) &&
         std::none_of(name.begin(), name.end(), IsControl);
}

}  // namespace firebrick
