#include "device/memory.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "device/cgroup.h"

namespace firebrick {
namespace {

// Bytes of a line "Name:   1234 kB" of /proc/meminfo.
std::optional<uint64_t> FindBytes(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t digits = text.find_first_of("0123456789", at + name.size());
  if (digits == std::string_view::npos) return std::nullopt;
  uint64_t kib = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), kib);
  return kib * 1024;
}

}  // namespace

Result<MemoryFacts> ReadMemoryFacts(const std::string& root) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(root + "/proc/meminfo", uint64_t{1} << 20));
  const std::optional<uint64_t> total = FindBytes(text, "MemTotal:");
  const std::optional<uint64_t> available = FindBytes(text, "MemAvailable:");
  if (!total || !available) {
    return MakeError(
        StatusCode::kUnavailable,
        "/proc/meminfo names no MemTotal and MemAvailable: give the size with --kv-cache-memory");
  }
  MemoryFacts facts{*total, *available, false};
  const CgroupLimits limits = ReadCgroupLimits(root);
  if (limits.memory_bytes && *limits.memory_bytes < facts.available_bytes) {
    facts.available_bytes = *limits.memory_bytes;
    facts.cgroup_limited = true;
  }
  if (limits.memory_limit_bytes) facts.total_bytes = std::min(facts.total_bytes, *limits.memory_limit_bytes);
  return facts;
}

}  // namespace firebrick
