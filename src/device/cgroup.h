// What the control groups of this process allow: CPU quota and memory, cgroup v1 and v2, with the limits of
// the parent groups. Thread: any; reads /proc and /sys afresh at each call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace firebrick {

struct CgroupLimits {
  std::optional<double> cpus;                  // quota / period, the smallest on the way up
  std::optional<uint64_t> memory_bytes;        // memory that is still free below the tightest limit
  std::optional<uint64_t> memory_limit_bytes;  // that limit
};

// `root` stands before /proc and /sys; "" is the real system, tests give a folder.
CgroupLimits ReadCgroupLimits(const std::string& root = "");

}  // namespace firebrick
