// `firebrick bench steady`: what arriving prompts do to streams that are being answered. Thread: the main
// thread.
#pragma once

#include <cstdint>
#include <ostream>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

struct BenchSteadyOptions {
  ModelOptions model;
  int32_t streams = 8;         // answered throughout
  int32_t context = 64;        // tokens of their prompts
  int32_t prompt = 4096;       // tokens of each arriving prompt
  int32_t prompts = 3;         // that arrive one after another, each when the one before has its first token
  int32_t alone_tokens = 100;  // that each stream gets while nothing arrives
  bool json = false;
};

// Runs the engine (scheduler and executor, no HTTP): the streams alone, the prompts alone, then both. Prints
// a table or one JSON object: {model, isa, threads, streams, alone: {gap_p50_ms, gap_p99_ms, tokens_per_s},
// prompts: {tokens_per_s}, mixed: {gap_p50_ms, gap_p99_ms, tokens_per_s, prompt_s}, gap_growth, work_share}.
// gap: between two tokens of a stream; gap_growth: mixed p99 by alone p99; prompt_s: from the arrival of a
// prompt to its first token; work_share: the seconds that the mixed run's tokens would take alone, by the
// seconds it took.
Status RunBenchSteady(const BenchSteadyOptions& options, std::ostream& out);

}  // namespace firebrick
