// Numbers to text and back, as Python writes and reads them.
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_chars.h"

namespace firebrick::jinja {
namespace {

// Without space at both ends, and with single underscores between digits taken out; empty where they stand
// wrong.
std::string CleanNumber(std::string_view text) {
  text = text.substr(0, RStripSpace(text));
  text = text.substr(SkipSpace(text, 0));
  std::string out;
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 >= text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return {};
    }
  }
  return out;
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

}  // namespace

std::string FloatRepr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text.front() == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t digits_at = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + digits_at, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return out + digits.substr(0, static_cast<size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<size_t>(exponent) + 1);
}

std::optional<Int> ParseInt(std::string_view raw, int base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  const std::string cleaned = CleanNumber(raw);
  std::string_view text = cleaned;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int implied = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (implied != 0 && (base == 0 || base == implied)) {
      base = implied;
      text.remove_prefix(2);
    }
  }
  if (base == 0) base = 10;
  if (text.empty()) return std::nullopt;
  Int value = 0;
  for (const char c : text) {
    const int digit = DigitValue(c);
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
    if (value > (Int{1} << 100)) Fail("an integer of the text is too large");
  }
  return negative ? -value : value;
}

std::optional<double> ParseFloat(std::string_view raw) {
  const std::string cleaned = CleanNumber(raw);
  std::string_view text = cleaned;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  if (text.size() > 2 && (text[1] == 'x' || text[1] == 'X')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (text.find('(') != std::string_view::npos) return std::nullopt;  // nan(…) is C's
  if (error == std::errc::result_out_of_range) {
    const size_t e = text.find_first_of("eE");
    value = e != std::string_view::npos && text.substr(e + 1, 1) == "-" ? 0.0 : HUGE_VAL;
  }
  return negative ? -value : value;
}

Int ToInt(double number) {
  if (!std::isfinite(number)) Fail("cannot convert {} to an integer", FloatRepr(number));
  if (std::abs(number) > 0x1p100) Fail("a number is too large for an integer");
  return static_cast<Int>(number);
}

}  // namespace firebrick::jinja
