// How much memory is there and how much is free, as the machine and the control groups say. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace firebrick {

struct MemoryFacts {
  uint64_t total_bytes = 0;      // of the machine, or the tightest cgroup limit
  uint64_t available_bytes = 0;  // can be allocated now without swapping; page cache counts as free
  bool cgroup_limited = false;   // a cgroup limit, not the machine, decides available_bytes
};

// `root` stands before /proc and /sys; "" is the real system, tests give a folder.
Result<MemoryFacts> ReadMemoryFacts(const std::string& root = "");

}  // namespace firebrick
