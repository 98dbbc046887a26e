#include "device/topology.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <sched.h>

#include "base/file.h"
#include "device/cgroup.h"

namespace firebrick {
namespace {

constexpr int32_t kMaxNodes = 64;
constexpr int32_t kFewestCpusToPin = 4;

std::vector<int32_t> AffinityMask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int32_t> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::string ReadText(const std::string& path) {
  Result<std::string> text = ReadFile(path, uint64_t{4} << 20);
  return text.ok() ? std::move(text).value() : std::string();
}

int32_t ReadInt(const std::string& path, int32_t otherwise) {
  const std::string text = ReadText(path);
  int32_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Sizes such as "266240K".
int64_t ReadLastCacheBytes(const std::string& root, int32_t cpu) {
  constexpr int kMaxCaches = 8;
  int64_t largest = 0;
  for (int index = 0; index < kMaxCaches; ++index) {
    const std::string text = ReadText(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                      "/cache/index" + std::to_string(index) + "/size");
    int64_t size = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
    if (parsed.ec != std::errc()) continue;
    const char unit = parsed.ptr < text.data() + text.size() ? *parsed.ptr : ' ';
    largest = std::max(largest, unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size);
  }
  return largest;
}

std::string ReadCpuName(const std::string& root) {
  const std::string text = ReadText(root + "/proc/cpuinfo");
  const size_t at = text.find("model name");
  if (at == std::string::npos) return "unknown CPU";
  const size_t colon = text.find(": ", at);
  if (colon == std::string::npos) return "unknown CPU";
  return text.substr(colon + 2, text.find('\n', colon) - colon - 2);
}

// Whether a list such as "0-3,8,10-11" holds `cpu`.
bool ListHolds(std::string_view list, int32_t cpu) {
  const char* at = list.data();
  const char* const end = list.data() + list.size();
  while (at < end) {
    int32_t first = -1;
    const auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc()) return false;
    at = parsed.ptr;
    int32_t last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    if (cpu >= first && cpu <= last) return true;
    if (at < end) ++at;  // the comma
  }
  return false;
}

void AssignNodes(const std::string& root, std::vector<LogicalCpu>* cpus) {
  for (int32_t node = 0; node < kMaxNodes; ++node) {
    const std::string list =
        ReadText(root + "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    for (LogicalCpu& cpu : *cpus) {
      if (ListHolds(list, cpu.id)) cpu.node = node;
    }
  }
}

// One CPU of each core first, in order of ids; then the second threads.
std::vector<int32_t> CoresFirst(const std::vector<LogicalCpu>& cpus) {
  std::set<std::pair<int32_t, int32_t>> seen;
  std::vector<int32_t> first;
  std::vector<int32_t> rest;
  for (const LogicalCpu& cpu : cpus) {
    (seen.insert({cpu.package, cpu.core}).second ? first : rest).push_back(cpu.id);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

Topology ReadTopology(const std::string& root, const std::vector<int32_t>& affinity) {
  Topology topology;
  topology.cpu_name = ReadCpuName(root);
  for (const int32_t id : affinity) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/";
    topology.cpus.push_back(
        {id, ReadInt(folder + "core_id", id), ReadInt(folder + "physical_package_id", 0), 0});
  }
  AssignNodes(root, &topology.cpus);
  if (!affinity.empty()) topology.last_cache_bytes = ReadLastCacheBytes(root, affinity[0]);
  topology.quota_cpus = ReadCgroupLimits(root).cpus;
  std::set<std::pair<int32_t, int32_t>> cores;
  std::set<int32_t> nodes;
  for (const LogicalCpu& cpu : topology.cpus) {
    cores.insert({cpu.package, cpu.core});
    nodes.insert(cpu.node);
  }
  topology.num_cores = static_cast<int32_t>(cores.size());
  topology.num_nodes = static_cast<int32_t>(nodes.size());
  const auto num_cpus = static_cast<int32_t>(topology.cpus.size());
  int32_t threads = num_cpus < kFewestCpusToPin ? num_cpus : topology.num_cores;
  bool under_quota = false;
  if (topology.quota_cpus && *topology.quota_cpus < threads) {
    threads = std::max(1, static_cast<int32_t>(std::floor(*topology.quota_cpus)));
    under_quota = true;
  }
  topology.default_threads = std::max(1, threads);
  if (num_cpus >= kFewestCpusToPin && !under_quota) {
    topology.pinning = CoresFirst(topology.cpus);
    topology.pinning.resize(static_cast<size_t>(topology.default_threads));
  }
  return topology;
}

Topology ReadTopology(const std::string& root) { return ReadTopology(root, AffinityMask()); }

std::string Topology::ToString() const {
  std::string text = fmt::format("cpu: {}\ncpus allowed: {} ({} cores, {} NUMA nodes)\n", cpu_name,
                                 cpus.size(), num_cores, num_nodes);
  text += quota_cpus ? fmt::format("cgroup quota: {:.2f} CPUs\n", *quota_cpus) : "cgroup quota: none\n";
  text += fmt::format(
      "threads: {}, {}\n", default_threads,
      pinning.empty() ? "not pinned (fewer than four CPUs, or a quota)" : "one pinned to each core");
  return text;
}

}  // namespace firebrick
