// StepPlan: all that the executor needs for one step, as a plain value. Identical on all ranks.
// Thread: built on the engine thread, moved into a slot of the executor, read there, moved back with its
// result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/ids.h"
#include "api/sampling.h"
#include "base/strong_id.h"

namespace firebrick {

using SeqSlot = StrongId<struct SeqSlotTag, uint32_t>;  // row of a running sequence in the executor's state
using BlockId = StrongId<struct BlockIdTag, uint32_t>;  // a page of the KV arena

// A sequence enters a slot (at admission and again after a preemption). The executor keeps what sampling
// needs.
struct SlotOpen {
  SeqSlot slot;
  RequestId request;
  SamplingParams sampling;
  std::vector<int32_t> stop_token_ids;  // masked out while fewer than min_tokens tokens are out
  int32_t min_tokens = 0;
  std::vector<int32_t> tokens;  // prompt, then output so far (after a preemption): penalties count over it
  int32_t num_prompt_tokens = 0;
};

// Tokens of one sequence in this step: a prefill chunk, or the one token of a decode.
struct StepRow {
  SeqSlot slot;
  int32_t first_position = 0;  // of the first token
  int32_t num_tokens = 0;      // >= 1
  int32_t token_offset = 0;    // into StepPlan::token_ids; unused where id_from_slot
  bool id_from_slot = false;   // num_tokens == 1 and the id is the token that the slot sampled last (the plan
                               // was built before that token was known)
  bool wants_token = false;    // sample after the last token of the row
  bool wants_prompt_logprobs = false;
};

// Block `block` becomes entry `block_idx` (position / 32) of the slot's table for a layer group. The entries
// of a table come in ascending order without holes; the first one of a sliding group need not be 0 (a prefix
// hit brings only what the window still sees).
struct BlockAppend {
  SeqSlot slot;
  uint16_t group = 0;
  int32_t block_idx = 0;
  BlockId block;
};

// Entries below `first_block_idx` of the slot's table leave it (a sliding window moved on).
struct BlockTrim {
  SeqSlot slot;
  uint16_t group = 0;
  int32_t first_block_idx = 0;
};

// Applied in this order: closed, opened, trimmed, appended, zeroed, rows. There is no copy on write: only
// full blocks are shared and a full block is never written again (docs/contracts/kv.md).
struct StepPlan {
  uint64_t step_id = 0;
  std::vector<SeqSlot> closed;
  std::vector<SlotOpen> opened;
  std::vector<BlockTrim> trimmed;
  std::vector<BlockAppend> appended;
  // Fresh pages that this step does not fill wholly: their V is cleared before use (0 x NaN crosses
  // requests).
  std::vector<BlockId> zeroed;
  std::vector<StepRow> rows;  // at most one per slot
  std::vector<int32_t> token_ids;

  int32_t num_tokens() const {
    int32_t total = 0;
    for (const StepRow& row : rows) total += row.num_tokens;
    return total;
  }
  // Empties the plan and keeps its memory.
  void Clear() {
    step_id = 0;
    closed.clear();
    opened.clear();
    trimmed.clear();
    appended.clear();
    zeroed.clear();
    rows.clear();
    token_ids.clear();
  }
};

}  // namespace firebrick
