#include "device/cgroup.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace firebrick {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 20;
// cgroup v1 writes "no limit" as the largest page-aligned integer.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::optional<std::string> Read(const std::string& path) {
  Result<std::string> text = ReadFile(path, kMaxFileBytes);
  if (!text.ok()) return std::nullopt;
  return std::move(text).value();
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = Read(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

// The number behind `name` in a file of "name number" lines.
std::optional<uint64_t> ReadField(const std::string& path, std::string_view name) {
  const std::optional<std::string> text = Read(path);
  if (!text) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() == 2 && words[0] == name) return ParseNumber(words[1]);
  }
  return std::nullopt;
}

// The folders of a group below `mount`, from its own up to the mount itself. A container often sees its own
// group as the mount's root although /proc names a longer path; folders that do not exist are simply not
// read.
std::vector<std::string> GroupFolders(const std::string& mount, std::string_view group) {
  std::vector<std::string> folders;
  while (group.size() > 1) {
    folders.push_back(mount + std::string(group));
    group = group.substr(0, group.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

void KeepSmaller(std::optional<double>* kept, double value) {
  if (!*kept || value < **kept) *kept = value;
}

void KeepTighterMemory(CgroupLimits* limits, uint64_t limit, uint64_t used, uint64_t reclaimable) {
  if (limit >= kNoLimit) return;
  used -= std::min(used, reclaimable);
  const uint64_t free = limit - std::min(limit, used);
  if (!limits->memory_bytes || free < *limits->memory_bytes) {
    limits->memory_bytes = free;
    limits->memory_limit_bytes = limit;
  }
}

void ReadUnified(const std::string& folder, CgroupLimits* limits) {
  if (const auto text = Read(folder + "/cpu.max")) {
    const std::vector<std::string_view> words = Split(*text, ' ');
    if (words.size() == 2) {
      const auto quota = ParseNumber(words[0]);  // "max" is no number
      const auto period = ParseNumber(words[1]);
      if (quota && period && *period > 0) {
        KeepSmaller(&limits->cpus, static_cast<double>(*quota) / static_cast<double>(*period));
      }
    }
  }
  const auto limit = ReadNumber(folder + "/memory.max");
  const auto used = ReadNumber(folder + "/memory.current");
  if (limit && used) {
    KeepTighterMemory(limits, *limit, *used, ReadField(folder + "/memory.stat", "inactive_file").value_or(0));
  }
}

void ReadCpuV1(const std::string& folder, CgroupLimits* limits) {
  const auto quota = ReadNumber(folder + "/cpu.cfs_quota_us");  // -1, no limit, is no unsigned number
  const auto period = ReadNumber(folder + "/cpu.cfs_period_us");
  if (quota && period && *period > 0) {
    KeepSmaller(&limits->cpus, static_cast<double>(*quota) / static_cast<double>(*period));
  }
}

void ReadMemoryV1(const std::string& folder, CgroupLimits* limits) {
  const auto limit = ReadNumber(folder + "/memory.limit_in_bytes");
  const auto used = ReadNumber(folder + "/memory.usage_in_bytes");
  if (limit && used) {
    KeepTighterMemory(limits, *limit, *used,
                      ReadField(folder + "/memory.stat", "total_inactive_file").value_or(0));
  }
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root) {
  CgroupLimits limits;
  const std::optional<std::string> groups = Read(root + "/proc/self/cgroup");
  if (!groups) return limits;
  const std::string mount = root + "/sys/fs/cgroup";
  for (const std::string_view line : Split(*groups, '\n')) {  // "id:controllers:/path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view path = line.substr(second + 1);
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      for (const std::string& folder : GroupFolders(mount, path)) ReadUnified(folder, &limits);
      continue;
    }
    for (const std::string_view controller : Split(controllers, ',')) {
      if (controller == "cpu") {
        for (const std::string& folder : GroupFolders(mount + "/cpu", path)) ReadCpuV1(folder, &limits);
      } else if (controller == "memory") {
        for (const std::string& folder : GroupFolders(mount + "/memory", path)) ReadMemoryV1(folder, &limits);
      }
    }
  }
  return limits;
}

}  // namespace firebrick
