// Which CPUs this process may use, and how many threads suit them. Thread: any; values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace firebrick {

struct LogicalCpu {
  int32_t id = 0;       // the kernel's number
  int32_t core = 0;     // CPUs with the same (package, core) are threads of one core
  int32_t package = 0;  // socket
  int32_t node = 0;     // NUMA node
};

struct Topology {
  std::string cpu_name;
  std::vector<LogicalCpu> cpus;      // of the affinity mask, by id
  std::optional<double> quota_cpus;  // CPU time that the cgroup allows, in CPUs
  int32_t num_cores = 0;             // distinct cores of `cpus`
  int32_t num_nodes = 0;
  int64_t last_cache_bytes = 0;  // of the largest cache that the first CPU sees; 0 where the system is silent
  // Threads to compute with: one per core (below four CPUs: one per logical CPU), no more than the quota.
  int32_t default_threads = 1;
  // CPUs to pin these threads to, one per thread; empty below four CPUs and under a quota.
  std::vector<int32_t> pinning;

  // A few lines for people ("firebrick doctor").
  std::string ToString() const;
};

// `root` stands before /proc and /sys; "" is the real system, tests give a folder and the mask.
Topology ReadTopology(const std::string& root = "");
Topology ReadTopology(const std::string& root, const std::vector<int32_t>& affinity);

}  // namespace firebrick
