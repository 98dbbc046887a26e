#include "exec/warm_up.h"

#include <utility>

#include "base/status.h"

namespace firebrick {
namespace {

void RunStep(Executor* executor, StepPlan plan) {
  executor->Submit(std::move(plan));
  CHECK(executor->Collect(std::chrono::steady_clock::time_point::max()).has_value());
}

}  // namespace

void WarmUp(Executor* executor, int32_t num_groups) {
  const SeqSlot slot(0);
  StepPlan plan;
  SlotOpen open;
  open.slot = slot;
  open.num_prompt_tokens = 1;
  open.tokens.push_back(0);
  plan.opened.push_back(std::move(open));
  for (int32_t group = 0; group < num_groups; ++group) {
    const BlockId block(static_cast<uint32_t>(group));
    plan.appended.push_back({slot, static_cast<uint16_t>(group), 0, block});
    plan.zeroed.push_back(block);
  }
  RunStep(executor, std::move(plan));
  StepPlan close;
  close.closed.push_back(slot);
  RunStep(executor, std::move(close));
}

}  // namespace firebrick
