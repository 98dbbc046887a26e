// `firebrick bench growth`: the time of a decode step against batch and context, and whether it jumps
// anywhere: a cliff at the border of a block, a partition or a tile is a fault of a kernel. Thread: the main
// thread.
#pragma once

#include <cstdint>
#include <ostream>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

struct BenchGrowthOptions {
  ModelOptions model;
  int32_t max_batch = 64;       // streams: every number from 1 to this is measured, each stream at context 64
  int32_t max_context = 32768;  // tokens: at the borders up to this, one stream. Its KV memory is needed
  int32_t repeat = 5;           // medians are taken over this many runs, each over all points in turn
  bool json = false;
};

// Prints tables, or one JSON object: {model, isa, threads, batch: [{batch, ms, growth}], context: [{context,
// ms, growth}], worst_batch_growth, worst_context_growth}. growth: the time with one more stream or token
// divided by this one, each pair measured together. Contexts are multiples of 32 (at first each, then
// doubling) and their neighbours. The keys and values of the contexts are zeros: a step reads them like any
// others.
Status RunBenchGrowth(const BenchGrowthOptions& options, std::ostream& out);

}  // namespace firebrick
