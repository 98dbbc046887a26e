// `firebrick bench speed`: prefill and decode rates of a model on this machine, below server and scheduler,
// beside the read bandwidth that the same run measured. Thread: the main thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

struct BenchSpeedOptions {
  ModelOptions model;
  int32_t prompt = 512;                       // tokens of the prompt whose prefill is measured; 0: none is
  int32_t context = 0;                        // tokens before the decoded ones; 0: as many as `prompt`
  int32_t gen = 32;                           // tokens decoded by each stream
  std::vector<int32_t> streams{1, 4, 8, 16};  // sequences decoded at once
  int32_t repeat = 3;                         // medians are taken over this many runs
  bool json = false;
};

// Prints a table, or one JSON object: {prefill_tps, streams: [{streams, context_tps, decode_tps, bytes_per_s,
// roofline_share}], read_bandwidth, model, prompt, context, gen, threads, isa}. context_tps: prefill of the
// contexts, one stream after another; bytes_per_s: packed weights and keys and values that a step must read,
// times steps per second; roofline_share: its share of read_bandwidth.
Status RunBenchSpeed(const BenchSpeedOptions& options, std::ostream& out);

}  // namespace firebrick
