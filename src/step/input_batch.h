// InputBatch: the tokens of one forward pass, flattened, and where each sequence's KV pages lie.
// Built by exec from a StepPlan, read by model and kernels. Plain data, reused from step to step (Clear keeps
// the capacity). Thread: one writer, then const during the forward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "step/step_plan.h"

namespace firebrick {

// Consecutive tokens of one sequence. Its keys and values of this pass are written to its pages before any of
// its tokens attends; a token at position p attends to positions (p - window, p] of its own sequence.
struct BatchSequence {
  int32_t token_begin = 0;     // index of its first token in the batch
  int32_t num_tokens = 0;      // >= 1
  int32_t first_position = 0;  // of its first token
  int32_t table_begin = 0;     // into InputBatch::block_tables: num_groups pointers, one per layer group
};

struct InputBatch {
  int32_t num_groups = 0;
  std::vector<int32_t> token_ids;  // [num_tokens]; each in [0, vocab_size), which the caller has checked
  std::vector<int32_t> positions;  // [num_tokens]
  std::vector<BatchSequence> sequences;
  // A table holds the page of entry position / 32 at that index, for every entry that the sequence's tokens
  // of this pass read or write; entries that a window left behind are never read. Owned by the caller.
  std::vector<const BlockId*> block_tables;
  // Tokens whose logits are wanted, ascending; logits row i belongs to logit_tokens[i].
  std::vector<int32_t> logit_tokens;

  int32_t num_tokens() const { return static_cast<int32_t>(token_ids.size()); }
  void Clear() {
    token_ids.clear();
    positions.clear();
    sequences.clear();
    block_tables.clear();
    logit_tokens.clear();
  }
};

}  // namespace firebrick
