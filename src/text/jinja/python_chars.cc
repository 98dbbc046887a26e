#include "text/jinja/python_chars.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <utf8proc.h>

#include "base/utf8.h"

namespace firebrick::jinja {
namespace {

struct LongCase {
  uint32_t code_point;
  const char8_t* upper;
  const char8_t* title;
};
constexpr LongCase kLongCases[] = {
#include "text/jinja/case_table.inc"
};

utf8proc_category_t Category(uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

uint32_t CodePointAt(std::string_view text, size_t at, size_t* length) {
  const Utf8Scan scan = ScanUtf8(text.substr(at));
  *length = std::max<size_t>(scan.length, 1);
  return scan.step == Utf8Step::kCharacter ? scan.code_point : 0xFFFD;
}

}  // namespace

bool IsSpace(uint32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsPrintable(uint32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool IsAlpha(uint32_t c) {
  const auto category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool IsDecimal(uint32_t c) { return Category(c) == UTF8PROC_CATEGORY_ND; }
bool IsDigit(uint32_t c) {
  static constexpr std::pair<uint32_t, uint32_t> kOthers[] = {
      {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
      {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
      {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
      {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return IsDecimal(c) || std::any_of(std::begin(kOthers), std::end(kOthers),
                                     [c](const auto& run) { return c >= run.first && c <= run.second; });
}
bool IsNumeric(uint32_t c) {
  const auto category = Category(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
bool IsUpperCase(uint32_t c) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0; }
bool IsLowerCase(uint32_t c) { return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0; }
bool IsCased(uint32_t c) { return IsUpperCase(c) || IsLowerCase(c) || Category(c) == UTF8PROC_CATEGORY_LT; }

size_t SkipSpace(std::string_view text, size_t from) {
  while (from < text.size()) {
    size_t length = 0;
    if (!IsSpace(CodePointAt(text, from, &length))) break;
    from += length;
  }
  return from;
}

size_t RStripSpace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t length = 0;
    if (!IsSpace(CodePointAt(text, begin, &length))) break;
    end = begin;
  }
  return end;
}

void AppendCase(uint32_t c, CaseMap map, std::string* out) {
  const auto point = static_cast<utf8proc_int32_t>(c);
  if (map == CaseMap::kLower) {
    if (c == 0x130) {  // the only one that grows: i and a combining dot
      *out += "i\xCC\x87";
      return;
    }
    AppendUtf8(static_cast<uint32_t>(utf8proc_tolower(point)), out);
    return;
  }
  if (c >= 0x80) {
    const auto* found =
        std::lower_bound(std::begin(kLongCases), std::end(kLongCases), c,
                         [](const LongCase& row, uint32_t key) { return row.code_point < key; });
    if (found != std::end(kLongCases) && found->code_point == c) {
      *out += reinterpret_cast<const char*>(map == CaseMap::kUpper ? found->upper : found->title);
      return;
    }
  }
  AppendUtf8(
      static_cast<uint32_t>(map == CaseMap::kUpper ? utf8proc_toupper(point) : utf8proc_totitle(point)), out);
}

}  // namespace firebrick::jinja
