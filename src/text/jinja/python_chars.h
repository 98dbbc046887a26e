// Characters as Python sees them: space, case, printable. Source: Unicode 14 through utf8proc, and Python's
// own rules (docs.python.org, str.isspace, str.isprintable).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace firebrick::jinja {

bool IsSpace(uint32_t code_point);
bool IsPrintable(
    uint32_t code_point);  // outside of ASCII: no control, format, unassigned, separator but space
bool IsAlpha(uint32_t code_point);
bool IsDecimal(uint32_t code_point);  // Nd
bool IsDigit(uint32_t code_point);    // IsDecimal, and superscripts, subscripts and the like
bool IsNumeric(uint32_t code_point);  // Nd, Nl, No; Python counts the CJK numerals, too
bool IsUpperCase(uint32_t code_point);
bool IsLowerCase(uint32_t code_point);
bool IsCased(uint32_t code_point);

// First position at or after `from` that is not space; and the end of the text without the space at its end.
size_t SkipSpace(std::string_view text, size_t from);
size_t RStripSpace(std::string_view text);

enum class CaseMap : uint8_t { kUpper, kLower, kTitle };
// Full mapping (one character may become three); final sigma is the caller's.
void AppendCase(uint32_t code_point, CaseMap map, std::string* out);

}  // namespace firebrick::jinja
