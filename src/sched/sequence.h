// Sequence: one accepted request on its way through the scheduler. Thread: engine thread. Owner: Scheduler.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "api/delta.h"
#include "api/ids.h"
#include "api/sampling.h"
#include "kv/block_key.h"
#include "step/step_plan.h"

namespace firebrick {

using SteadyTime = std::chrono::steady_clock::time_point;

enum class SequenceState : uint8_t {
  kWaiting,    // no slot, no blocks
  kRunning,    // has a slot
  kPreempted,  // left its slot; steps in flight still see its blocks, then it waits again
  kFinished,   // left its slot; steps in flight still see its blocks, then it is gone
};

// The pages of one layer group: blocks[i] is block first_block_idx + i of the sequence.
struct BlockTable {
  int32_t first_block_idx = 0;
  int32_t announced_first_idx = 0;  // what the executor knows
  std::vector<BlockId> blocks;
};

// Positions: tokens[p] is the token at position p; its KV is computed by the step that carries p.
//   num_computed <= num_planned <= tokens.size() + num_sampling
struct Sequence {
  // Set once.
  RequestId id;
  int32_t priority = 0;  // lower runs first
  uint64_t arrival = 0;  // then earlier first
  int32_t num_prompt_tokens = 0;
  SamplingParams sampling;
  std::vector<int32_t> stop_token_ids;
  int32_t min_tokens = 0;
  int32_t max_tokens = 0;
  SteadyTime deadline = SteadyTime::max();
  BlockKey root_key{};

  // Content.
  std::vector<int32_t> tokens;  // prompt, then output
  std::vector<BlockKey> keys;   // of the full blocks of `tokens`, each hashed once
  std::vector<TokenLogprob> prompt_logprobs;
  bool sent_prompt_logprobs = false;

  // Progress.
  SequenceState state = SequenceState::kWaiting;
  SeqSlot slot;
  bool slot_is_open = false;  // the executor was told
  int32_t num_computed = 0;   // positions whose step was applied
  int32_t num_planned = 0;    // positions in steps planned so far
  int32_t num_sampling = 0;   // tokens that steps in flight will sample
  int32_t num_in_flight = 0;  // rows in steps in flight
  uint64_t admitted_step = 0;
  uint64_t last_row_step = 0;
  int32_t awaited_block_idx = -1;  // waits for another sequence to fill this block of the prompt

  // Blocks. All tables end at end_block_idx.
  std::vector<BlockTable> tables;  // [group]
  int32_t end_block_idx = 0;
  int32_t num_sealed_blocks = 0;  // blocks computed wholly and offered to the index

  // Accounts.
  bool was_admitted = false;
  int32_t num_cached_tokens = 0;  // of the prompt, found at the first admission
  int32_t num_preemptions = 0;
  SteadyTime first_planned;

  int32_t length() const { return static_cast<int32_t>(tokens.size()) + num_sampling; }
  // Positions that are ever computed: the last token of the output is not.
  int32_t max_positions() const { return num_prompt_tokens + std::max(max_tokens, 1) - 1; }
  // Tokens that the next step could carry: 1 is a decode, more is prefill.
  int32_t to_plan() const { return std::min(length(), max_positions()) - num_planned; }
  bool wants_prompt_logprobs() const { return sampling.num_prompt_logprobs >= 0 && !sent_prompt_logprobs; }
  int32_t num_blocks_held() const {
    int32_t total = 0;
    for (const BlockTable& table : tables) total += static_cast<int32_t>(table.blocks.size());
    return total;
  }
};

// The order of service.
inline bool RanksBefore(const Sequence& a, const Sequence& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.arrival < b.arrival;
}

}  // namespace firebrick
