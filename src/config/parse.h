// Text to values, with errors that say what would have been right. Used for flags; thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firebrick {

Result<int64_t> ParseInteger(std::string_view text, int64_t min, int64_t max);
Result<uint64_t> ParseUnsigned(std::string_view text);
Result<double> ParseReal(std::string_view text, double min, double max);
// "512MiB", "4G", "4GiB", "1048576": suffixes K, M, G, T with or without "iB", powers of 1024.
Result<uint64_t> ParseBytes(std::string_view text);
// "1,4,8": at least one number, each in [min, max].
Result<std::vector<int32_t>> ParseIntegerList(std::string_view text, int64_t min, int64_t max);

// 1536 is "1.5 KiB". For people, not for parsing back.
std::string FormatBytes(uint64_t bytes);

}  // namespace firebrick
