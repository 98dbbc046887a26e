// EngineLoop: the engine thread's life. It takes mail, plans while the executor has room, collects one
// result, applies it, and hands the events on. Thread: engine thread (Run); Counters from any. Contract:
// docs/contracts/engine_loop.md.
#pragma once

#include <mutex>

#include "engine/mailbox.h"
#include "engine/output_router.h"
#include "exec/executor.h"
#include "sched/scheduler.h"

namespace firebrick {

class EngineLoop {
 public:
  // All outlive the loop. `tokenizer` may be null.
  EngineLoop(const SchedulerConfig& config, Executor* executor, Mailbox* mailbox, OutputRouter* router,
             const Tokenizer* tokenizer);

  // Returns when the mailbox was closed and all that ran is cancelled and off the executor.
  void Run();
  // Fills the scheduler's part of the counters and the heartbeat.
  void FillCounters(EngineCounters* counters) const;

 private:
  bool TakeMail();
  bool PlanOne();
  void CollectOne();
  void Publish();

  Scheduler scheduler_;
  Executor* executor_;
  Mailbox* mailbox_;
  OutputRouter* router_;
  const Tokenizer* tokenizer_;
  int32_t num_in_flight_ = 0;
  StepPlan plan_;
  Mail mail_;

  mutable std::mutex counters_mutex_;
  SchedulerCounters counters_;
  int64_t last_step_ns_ = 0;
};

}  // namespace firebrick
