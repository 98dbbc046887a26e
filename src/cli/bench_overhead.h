// `firebrick bench overhead`: CPU time that is not arithmetic: of an idle server, and of the server's and
// engine's threads while it answers. Thread: the main thread.
#pragma once

#include <cstdint>
#include <ostream>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

struct BenchOverheadOptions {
  ModelOptions model;
  int32_t idle_seconds = 30;
  int32_t streams = 16;
  int32_t prompt = 64;  // tokens of each prompt
  int32_t gen = 128;    // tokens that each stream gets, streamed one by one
  bool json = false;
};

// Starts `serve`, reads /proc/PID/task/*/stat over the idle time, then over the streams. Prints a table or
// one JSON object: {model, idle_seconds, idle_share (of one core), streams, cpu_s, overhead_share, threads:
// {name: seconds}}. overhead_share: all threads but fb-worker and fb-executor, which compute.
Status RunBenchOverhead(const BenchOverheadOptions& options, std::ostream& out);

}  // namespace firebrick
