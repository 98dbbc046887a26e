#include "config/parse.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace firebrick {
namespace {

template <typename T>
bool ReadWhole(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

constexpr std::array<char, 4> kSuffixes = {'K', 'M', 'G', 'T'};

}  // namespace

Result<int64_t> ParseInteger(std::string_view text, int64_t min, int64_t max) {
  int64_t value = 0;
  if (!ReadWhole(text, &value)) return InvalidArgument("'{}' is not a whole number", text);
  if (value < min || value > max) {
    if (max == std::numeric_limits<int32_t>::max() || max == std::numeric_limits<int64_t>::max()) {
      return InvalidArgument("{} is too small or too large; give {} or more", text, min);
    }
    return InvalidArgument("{} is out of range; give {} to {}", text, min, max);
  }
  return value;
}

Result<uint64_t> ParseUnsigned(std::string_view text) {
  uint64_t value = 0;
  if (!ReadWhole(text, &value)) {
    return InvalidArgument("'{}' is not a whole number from 0 to 18446744073709551615", text);
  }
  return value;
}

Result<double> ParseReal(std::string_view text, double min, double max) {
  double value = 0;
  if (!ReadWhole(text, &value) || std::isnan(value)) return InvalidArgument("'{}' is not a number", text);
  if (value < min || value > max) return InvalidArgument("{} is out of range; give {} to {}", text, min, max);
  return value;
}

Result<uint64_t> ParseBytes(std::string_view text) {
  std::string_view digits = text;
  if (digits.ends_with("iB")) digits.remove_suffix(2);
  int shift = 0;
  for (size_t i = 0; i < kSuffixes.size(); ++i) {
    if (!digits.empty() && (digits.back() == kSuffixes[i] || digits.back() == kSuffixes[i] + ('a' - 'A'))) {
      digits.remove_suffix(1);
      shift = 10 * (static_cast<int>(i) + 1);
      break;
    }
  }
  const bool unit_without_prefix = shift == 0 && digits.size() != text.size();
  double value = 0;
  if (unit_without_prefix || !ReadWhole(digits, &value) || !(value >= 0)) {
    return InvalidArgument("'{}' is not a size; write it like 512MiB or 4GiB", text);
  }
  const double bytes = std::ldexp(value, shift);
  if (bytes >= 9e18) return InvalidArgument("{} is larger than any memory", text);
  return static_cast<uint64_t>(bytes);
}

Result<std::vector<int32_t>> ParseIntegerList(std::string_view text, int64_t min, int64_t max) {
  std::vector<int32_t> values;
  while (true) {
    const size_t comma = text.find(',');
    ASSIGN_OR_RETURN(const int64_t value, ParseInteger(text.substr(0, comma), min, max));
    values.push_back(static_cast<int32_t>(value));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t suffix = 0;
  for (value /= 1024; value >= 1024 && suffix + 1 < kSuffixes.size(); value /= 1024) ++suffix;
  return fmt::format("{:.{}f} {}iB", value, value < 10 ? 2 : 1, kSuffixes[suffix]);
}

}  // namespace firebrick
