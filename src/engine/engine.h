// Engine: the public face. Requests go in through a bounded mailbox, deltas come out through their sinks.
// Thread: Submit, Cancel and the counters may be called from any thread; the engine thread owns all the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/request.h"
#include "base/status.h"
#include "exec/executor.h"
#include "sched/scheduler_config.h"

namespace firebrick {

class Tokenizer;

// What /metrics and the page show. A snapshot, taken by the engine thread at the end of each step.
struct EngineCounters {
  int32_t num_running = 0;
  int32_t num_waiting = 0;
  int32_t num_blocks = 0;         // pool size
  int32_t num_blocks_used = 0;    // held by sequences
  int32_t num_blocks_cached = 0;  // free to take, but still indexed
  uint64_t prompt_tokens = 0;     // totals since start
  uint64_t generated_tokens = 0;
  uint64_t prefix_queries = 0;  // prompt tokens looked up
  uint64_t prefix_hits = 0;     // of them, found
  uint64_t num_preemptions = 0;
  uint64_t num_steps = 0;
  uint64_t finished_stop = 0, finished_length = 0, finished_cancelled = 0, finished_error = 0;
  int64_t last_step_ns = 0;  // steady clock, end of the last step: the heartbeat
};

struct EngineConfig {
  SchedulerConfig scheduler;
  int32_t mailbox_capacity = 1024;  // waiting submits beyond this are refused: 429
};

// Callbacks for latency histograms; called on the output thread. Empty functions are not called.
struct EngineObservers {
  std::function<void(double seconds)> time_to_first_token;  // since Submit
  std::function<void(double seconds)> inter_token;
  std::function<void(const TokenDelta& last)> finished;
};

class Engine {
 public:
  // `tokenizer` (may be null in tests: deltas then carry no text) outlives the engine.
  Engine(EngineConfig config, std::unique_ptr<Executor> executor, const Tokenizer* tokenizer,
         EngineObservers observers);
  ~Engine();  // cancels what runs, joins the threads
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  RequestId NewRequestId();
  // kResourceExhausted: the mailbox or the queue is full, try later. kInvalidArgument: the request can never
  // run (longer than max_model_len or than the pool). On success the sink gets its last delta exactly once,
  // whatever happens.
  Status Submit(GenerateRequest request);
  // Ends a request; its blocks are free within one step. Unknown ids are ignored.
  void Cancel(RequestId id);
  // No new requests from here on (kUnavailable); returns true when all are done, false when the deadline came
  // first.
  bool Drain(std::chrono::steady_clock::time_point deadline);

  EngineCounters Counters() const;
  int32_t max_model_len() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace firebrick
