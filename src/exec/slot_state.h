// SlotState: what the executor remembers of a running sequence between steps. Private to the rank.
// Thread: the executor's thread (rows of one step may be read by pool threads while it waits for them).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "api/ids.h"
#include "api/sampling.h"
#include "base/status.h"
#include "step/step_plan.h"

namespace firebrick {

struct SlotState {
  bool open = false;
  RequestId request;
  SamplingParams sampling;
  std::vector<int32_t> stop_token_ids;
  int32_t min_tokens = 0;
  int32_t num_prompt_tokens = 0;
  std::vector<int32_t> tokens;  // prompt and output so far
  std::unordered_map<int32_t, int32_t>
      output_counts;  // token -> occurrences in the output; only with penalties
  Status failure;     // of an earlier row; later rows of the slot repeat it
  // Block tables: [group][block_idx]; entries below first_block_idx[group] have left the window.
  std::vector<std::vector<BlockId>> tables;
  std::vector<int32_t> first_block_idx;

  int32_t num_output_tokens() const { return static_cast<int32_t>(tokens.size()) - num_prompt_tokens; }
  bool has_penalties() const {
    return sampling.repetition_penalty != 1.0F || sampling.presence_penalty != 0.0F ||
           sampling.frequency_penalty != 0.0F;
  }
  void AppendOutput(int32_t token);
};

// All slots of a rank, and the bookkeeping part of a plan.
class SlotTable {
 public:
  SlotTable(int32_t num_slots, int32_t num_groups);

  // Applies closed, opened, trimmed and appended of the plan, in that order. A plan that contradicts the
  // table (an open slot opened again, a gap in a block table) is a fault of the scheduler and aborts.
  void Apply(const StepPlan& plan);
  SlotState& at(SeqSlot slot) { return slots_[slot.value()]; }
  const SlotState& at(SeqSlot slot) const { return slots_[slot.value()]; }

 private:
  int32_t num_groups_;
  std::vector<SlotState> slots_;
};

}  // namespace firebrick
