// `firebrick bench kernels`: each matrix kernel alone, as a share of what the machine can do. Thread: the
// main thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"

namespace firebrick {

struct BenchKernelsOptions {
  std::string isa = "auto";
  int32_t threads = 0;                    // 0: as serve would
  std::vector<std::string> types;         // weight types; empty: the most used ones
  std::vector<int32_t> rows{1, 16, 512};  // tokens computed at once
  int32_t outputs = 2048;                 // of one matrix
  int32_t cols = 2048;                    // a multiple of 256
  int32_t repeat = 5;                     // medians are taken over this many runs
  bool json = false;
};

// Prints a table, or one JSON object: {isa, threads, outputs, cols, kernels: [{type, rows, bytes_per_s,
// read_bandwidth, bandwidth_share, flops, peak_flops, peak_share}]}. The weights of a run are copied until no
// cache holds them, so bytes_per_s is read from memory (many rows take fewer copies); flops: 2 x rows x
// outputs x cols per matrix and second; peak_flops: of the loop of kernels/peak.h that does the format's
// operations only, run just before.
Status RunBenchKernels(const BenchKernelsOptions& options, std::ostream& out);

}  // namespace firebrick
