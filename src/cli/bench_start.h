// `firebrick bench start`: how long a server takes from the start of its process to its first token, and how
// much memory it keeps, against reading the file once and the size of the weights. Thread: the main thread.
#pragma once

#include <cstdint>
#include <ostream>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

struct BenchStartOptions {
  ModelOptions model;
  int32_t repeat = 3;                      // starts of each kind; the median counts
  uint64_t kv_cache_bytes = 128ULL << 20;  // small, so that the memory of the KV cache is known
  bool untouched_memory = false;           // see RunBenchStart
  bool json = false;
};

// Starts `serve` cold (the model's pages dropped from the page cache, and looked up with mincore) and warm in
// turns, and prints a table or one JSON object: {model, file_bytes, weight_bytes, kv_bytes, cold: {...},
// warm: {...}} of {ready_s, first_token_s, read_s (cold), cached_share, start_peak_bytes, serving_bytes,
// serving_peak_bytes}. The first token is that of {"prompt": "Hello", "max_tokens": 1} over HTTP; resident
// memory while serving is that of prompts of 512 tokens, four at once. Before each start the run touches as
// much free memory as the server will take and gives it back, unless `untouched_memory`: a virtual machine
// that hands its free memory back to the host pays many times the price of a page fault for memory that
// nobody used for seconds.
Status RunBenchStart(const BenchStartOptions& options, std::ostream& out);

}  // namespace firebrick
