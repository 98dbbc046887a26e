// EngineSim: the real scheduler and the fake executor under random operations, on a clock of its own. One
// episode is one random configuration; it ends by finishing all requests and checking for leaks. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "exec/fake/fake_executor.h"
#include "sched/scheduler.h"

namespace firebrick {

class EngineSim {
 public:
  explicit EngineSim(uint64_t seed);

  // Runs random operations until `count` of them are done or the first fault, then drains.
  void Run(int64_t count);
  // Empty: no fault. Otherwise what was found first.
  const std::string& fault() const { return fault_; }

  // What happened, so that a test can see that every kind of event was reached.
  struct Tally {
    uint64_t finished = 0, cancelled = 0, expired = 0, failed = 0, preemptions = 0, hits = 0, drops = 0;
    uint64_t refused = 0, sliding_hits = 0, steps = 0;
    void Add(const Tally& other);
  };
  const Tally& tally() const { return tally_; }

 private:
  struct Client {
    GenerateRequest request;  // a copy: what the oracle needs
    std::vector<int32_t> tokens;
    std::vector<TokenLogprob> prompt_logprobs;
    bool was_cancelled = false;
  };
  void Operate();
  void AddRequest();
  GenerateRequest MakeRequest();
  void Step(bool may_plan);
  bool PlanOne();
  void CollectOne();
  void TakeEvents();
  void TakeEvent(SequenceEvent event);
  void CheckAnswer(const Client& client, const SequenceEvent& event);
  void Check();
  void Drain();
  void Fail(std::string what);
  uint64_t DomainOf(const std::string& salt) const { return std::hash<std::string>()(salt); }
  int32_t Uniform(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }
  bool Chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  std::mt19937_64 random_;
  SchedulerConfig config_;
  FakeExecutorConfig device_config_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<FakeExecutor> executor_;
  std::map<RequestId, Client> clients_;  // alive
  std::map<RequestId, uint64_t> domains_;
  std::set<RequestId> doomed_;                   // their next row fails
  std::vector<std::vector<int32_t>> documents_;  // prompts begin with parts of these
  std::vector<std::vector<int32_t>> histories_;  // prompts and answers of finished requests: next turns
  SteadyTime now_;
  uint64_t next_id_ = 0;
  StepPlan plan_;
  std::string fault_;
  Tally tally_;
};

}  // namespace firebrick
