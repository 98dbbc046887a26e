#include "exec/slot_state.h"

namespace firebrick {

void SlotState::AppendOutput(int32_t token) {
  tokens.push_back(token);
  if (has_penalties()) ++output_counts[token];
}

SlotTable::SlotTable(int32_t num_slots, int32_t num_groups)
    : num_groups_(num_groups), slots_(static_cast<size_t>(num_slots)) {}

void SlotTable::Apply(const StepPlan& plan) {
  for (const SeqSlot slot : plan.closed) {
    CHECK(at(slot).open);
    at(slot).open = false;
  }
  for (const SlotOpen& open : plan.opened) {
    SlotState& state = at(open.slot);
    CHECK_MSG(!state.open, "slot {} is opened twice", open.slot.value());
    state.open = true;
    state.request = open.request;
    state.sampling = open.sampling;
    state.stop_token_ids = open.stop_token_ids;
    state.min_tokens = open.min_tokens;
    state.num_prompt_tokens = open.num_prompt_tokens;
    state.tokens = open.tokens;
    state.output_counts.clear();
    state.failure = OkStatus();
    if (state.has_penalties()) {
      for (size_t i = static_cast<size_t>(open.num_prompt_tokens); i < open.tokens.size(); ++i) {
        ++state.output_counts[open.tokens[i]];
      }
    }
    state.tables.resize(static_cast<size_t>(num_groups_));
    for (auto& table : state.tables) table.clear();
    state.first_block_idx.assign(static_cast<size_t>(num_groups_), 0);
  }
  for (const BlockTrim& trim : plan.trimmed) {
    SlotState& state = at(trim.slot);
    CHECK(state.open && trim.first_block_idx >= state.first_block_idx[trim.group]);
    state.first_block_idx[trim.group] = trim.first_block_idx;
  }
  for (const BlockAppend& append : plan.appended) {
    SlotState& state = at(append.slot);
    auto& table = state.tables[append.group];
    const auto idx = static_cast<size_t>(append.block_idx);
    // A prefix hit in a sliding group starts behind entries that its window no longer sees: they stay
    // invalid.
    CHECK(state.open && idx >= table.size());
    table.resize(idx, BlockId());
    table.push_back(append.block);
  }
}

}  // namespace firebrick
