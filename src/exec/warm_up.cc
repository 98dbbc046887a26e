#include "exec/warm_up.h"

#include <utility>

namespace firebrick {
namespace {

Status RunStep(Executor* executor, StepPlan plan) {
  executor->Submit(std::move(plan));
  const auto result = executor->Collect(std::chrono::steady_clock::time_point::max());
  CHECK(result.has_value());
  for (const RowResult& row : result->rows) RETURN_IF_ERROR(row.status);
  return OkStatus();
}

}  // namespace

Status WarmUp(Executor* executor, int32_t num_groups) {
  const SeqSlot slot(0);
  StepPlan plan;
  SlotOpen open;
  open.slot = slot;
  open.sampling.temperature = 0;
  open.num_prompt_tokens = 1;
  open.tokens.push_back(0);
  plan.opened.push_back(std::move(open));
  for (int32_t group = 0; group < num_groups; ++group) {
    const BlockId block(static_cast<uint32_t>(group));
    plan.appended.push_back({slot, static_cast<uint16_t>(group), 0, block});
    plan.zeroed.push_back(block);
  }
  plan.rows.push_back({.slot = slot, .first_position = 0, .num_tokens = 1, .wants_token = true});
  plan.token_ids.push_back(0);
  const Status status = RunStep(executor, std::move(plan));
  StepPlan close;
  close.closed.push_back(slot);
  RETURN_IF_ERROR(RunStep(executor, std::move(close)));
  return status;
}

}  // namespace firebrick
