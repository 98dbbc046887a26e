// RankExecutor: runs plans on a model of this host. One thread of its own walks the plans in order: zero,
// copy, build the batch, forward, sample. Thread: Submit and Collect on the engine thread; model, arena and
// slots are touched by the executor's thread (and the pool's workers inside a step) only.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/queue.h"
#include "device/thread_pool.h"
#include "exec/executor.h"
#include "exec/kv_store.h"
#include "exec/sampler.h"
#include "exec/slot_state.h"
#include "model/model.h"

namespace firebrick {

class RankExecutor final : public Executor {
 public:
  struct Options {
    int32_t num_slots = 64;
    int32_t num_sampled_tokens = 0;  // ids below it may be sampled (size of the tokenizer's vocabulary)
    int32_t depth = 2;               // steps in flight
  };

  // model, ops and pool outlive the executor.
  RankExecutor(const Model& model, const Ops& ops, ThreadPool& pool, KvStore store, Options options);
  ~RankExecutor() override;

  int32_t depth() const override { return options_.depth; }
  void Submit(StepPlan plan) override;
  std::optional<StepResult> Collect(std::chrono::steady_clock::time_point deadline) override;

 private:
  void Loop();
  StepResult Execute(const StepPlan& plan);
  Status ComputeRows(const StepPlan& plan, StepResult* result);
  void FailRows(const StepPlan& plan, const Status& status, StepResult* result);

  // A token whose logits are wanted; in the order of InputBatch::logit_tokens.
  struct WantedToken {
    size_t row = 0;  // of the plan
    int32_t token_in_row = 0;
  };
  void ListWantedTokens(const StepPlan& plan, StepResult* result);
  // logits: of this token, [vocab_size].
  void ScorePrompt(const StepRow& row, int32_t token_in_row, const float* logits, Sampler& sampler,
                   RowResult* result);
  void SampleRow(const StepRow& row, const float* logits, Sampler& sampler, RowResult* result);

  const Model& model_;
  const Ops& ops_;
  ThreadPool& pool_;
  const Options options_;
  KvStore store_;
  SlotTable slots_;
  InputBatch batch_;
  ForwardScratch scratch_;
  std::vector<WantedToken> wanted_;
  std::vector<float> logits_;      // [kLogitRows or fewer][vocab_size]
  std::vector<Sampler> samplers_;  // one per pool thread

  BoundedQueue<StepPlan> plans_;
  BoundedQueue<StepResult> results_;
  std::thread thread_;
};

}  // namespace firebrick
