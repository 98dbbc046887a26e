// SimHost: a scheduler over the fake executor, driven step by step on a clock of its own. Every step is
// followed by the invariant checker; a fault fails the test that runs. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "exec/fake/fake_executor.h"
#include "sched/scheduler.h"

namespace firebrick {

class SimHost {
 public:
  struct Outcome {
    GenerateRequest request;
    std::vector<int32_t> tokens;
    std::vector<SteadyTime> times;  // of the tokens
    std::vector<TokenLogprob> prompt_logprobs;
    std::optional<FinishReason> finish;
    Status error;
    int32_t num_cached_tokens = 0;
    int32_t num_preemptions = 0;
  };

  // `device` needs only the fields that are not the scheduler's.
  explicit SimHost(SchedulerConfig config, FakeExecutorConfig device = {});

  RequestId Add(GenerateRequest request);  // gives it an id
  RequestId Add(std::vector<int32_t> prompt, int32_t max_tokens);
  // Plans while the executor has room, then collects one result. False: there was nothing to do.
  bool Step();
  void RunAll();
  RequestId Run(std::vector<int32_t> prompt, int32_t max_tokens);  // Add and RunAll

  const Outcome& outcome(RequestId id) const { return outcomes_.at(id); }
  Scheduler& scheduler() { return *scheduler_; }
  SchedulerCounters counters() const { return scheduler_->Counters(); }
  SteadyTime now() const { return now_; }
  void Advance(std::chrono::nanoseconds time) { now_ += time; }
  void FailNextRow(RequestId id) { doomed_ = id; }
  // The answer is the oracle's, to the last token. Salts are domains: a page that crosses them is a fault.
  void ExpectOracle(RequestId id) const;
  void ExpectAtRest() const;  // nothing runs, waits or holds a block
  int32_t max_rows_of_a_step() const { return max_rows_; }
  int64_t num_computed_tokens() const { return num_computed_tokens_; }

 private:
  void TakeEvents();

  SchedulerConfig config_;
  FakeExecutorConfig device_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<FakeExecutor> executor_;
  std::map<RequestId, Outcome> outcomes_;
  std::map<RequestId, uint64_t> domains_;
  RequestId doomed_;
  SteadyTime now_{};
  StepPlan plan_;
  uint64_t next_id_ = 0;
  int32_t max_rows_ = 0;
  int64_t num_computed_tokens_ = 0;
};

std::vector<int32_t> RandomTokens(uint64_t seed, int32_t count);
std::vector<int32_t> Joined(std::vector<int32_t> head, const std::vector<int32_t>& tail);
SchedulerConfig SmallConfig(int32_t num_blocks, std::vector<int32_t> windows = {0});

}  // namespace firebrick
