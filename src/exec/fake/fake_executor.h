// FakeExecutor: a device that lives in a test. Its "model" is a hash of all tokens so far, and its "KV" is
// that hash, kept per page, position and layer group in an arena like the real one. Every row re-reads all
// that it can see through the slot's block tables: a wrong, stale, foreign or missing page is a violation,
// and the token that follows differs from the oracle's. Thread: engine thread; the work is done in Collect,
// as late as the contract allows.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/request.h"
#include "exec/executor.h"
#include "kernels/kv_view.h"

namespace firebrick {

struct FakeExecutorConfig {
  int32_t num_blocks = 0;
  std::vector<KvGroupSpec> groups;
  int32_t max_num_seqs = 0;
  int32_t vocab_size = 101;
  int32_t depth = 2;
  // The time that a step claims to take (StepResult::execute_ns); with `sleeps`, Collect takes it, too.
  int64_t ns_per_step = 0;
  int64_t ns_per_token = 0;
  bool sleeps = false;
};

// Injected behaviour. Empty functions are off.
struct FakeExecutorHooks {
  // Requests of different domains must never see each other's pages (cache salts): part of the hash.
  std::function<uint64_t(RequestId)> domain;
  // True: this row fails, and so do all later ones of its slot.
  std::function<bool(RequestId, int32_t first_position)> fails;
};

// What a request generates, computed without batches, blocks or steps.
struct FakeAnswer {
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::kLength;
  std::vector<TokenLogprob> prompt_logprobs;  // of prompt tokens 1..
};
FakeAnswer ExpectAnswer(const GenerateRequest& request, uint64_t domain, int32_t vocab_size);

class FakeExecutor : public Executor {
 public:
  explicit FakeExecutor(FakeExecutorConfig config, FakeExecutorHooks hooks = {});

  int32_t depth() const override { return config_.depth; }
  void Submit(StepPlan plan) override;
  std::optional<StepResult> Collect(std::chrono::steady_clock::time_point deadline) override;

  int32_t num_in_flight() const { return static_cast<int32_t>(queue_.size()); }
  // Faults of the plans so far, the first few in words. Empty is what a test wants.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Cell {
    int32_t position = -1;
    uint64_t history = 0;
  };
  struct Table {
    int32_t first_block_idx = 0;
    std::vector<BlockId> blocks;
  };
  struct Slot {
    bool is_open = false;
    bool has_failed = false;
    SlotOpen facts;                   // facts.tokens grows with what is sampled
    std::vector<uint64_t> histories;  // [p]: hash of tokens[0..p]
    std::vector<Table> tables;        // [group]
  };
  void ApplyTables(const StepPlan& plan);
  RowResult RunRow(const StepPlan& plan, const StepRow& row);
  void TouchPages(const StepRow& row, size_t group, Slot* slot);
  Cell* CellOf(const Slot& slot, size_t group, int32_t position);
  void Violate(std::string what);

  const FakeExecutorConfig config_;
  const FakeExecutorHooks hooks_;
  std::vector<Cell> arena_;  // [page][32]
  std::vector<Slot> slots_;
  std::deque<StepPlan> queue_;
  std::vector<std::string> violations_;
};

}  // namespace firebrick
