#include "sched/block_ledger.h"

#include <algorithm>

namespace firebrick {

namespace {

int32_t CeilBlocks(int32_t num_tokens) { return (num_tokens + kBlockTokens - 1) / kBlockTokens; }

std::vector<int32_t> Windows(const std::vector<KvGroupSpec>& groups) {
  std::vector<int32_t> windows;
  windows.reserve(groups.size());
  for (const KvGroupSpec& group : groups) windows.push_back(group.window);
  return windows;
}

}  // namespace

int32_t PeakBlocks(const std::vector<KvGroupSpec>& groups, int32_t num_positions) {
  const int32_t num_blocks = CeilBlocks(num_positions);
  int32_t total = 0;
  for (const KvGroupSpec& group : groups) {
    total += group.window == 0 ? num_blocks : std::min(num_blocks, CeilBlocks(group.window - 1) + 1);
  }
  return total;
}

int32_t MaxPositions(const SchedulerConfig& config) {
  int32_t fits = 0;
  int32_t too_long = config.max_model_len + 1;
  while (too_long - fits > 1) {
    const int32_t middle = fits + (too_long - fits) / 2;
    (PeakBlocks(config.groups, middle) <= config.num_blocks ? fits : too_long) = middle;
  }
  return fits;
}

BlockLedger::BlockLedger(const SchedulerConfig& config)
    : groups_(config.groups),
      enable_prefix_caching_(config.enable_prefix_caching),
      index_(Windows(config.groups), config.num_blocks),
      pool_(config.num_blocks, &index_) {}

int32_t BlockLedger::PeakBlocks(int32_t num_positions) const {
  return firebrick::PeakBlocks(groups_, num_positions);
}

void BlockLedger::SetRootKey(std::span<const uint8_t> key_root, std::string_view cache_salt, Sequence* seq) {
  seq->root_key = chain_.Root(key_root, cache_salt);
}

void BlockLedger::ExtendKeys(Sequence* seq) {
  if (!enable_prefix_caching_) return;
  const size_t num_full = seq->tokens.size() / kBlockTokens;
  while (seq->keys.size() < num_full) {
    const BlockKey& parent = seq->keys.empty() ? seq->root_key : seq->keys.back();
    const auto tokens = std::span(seq->tokens).subspan(seq->keys.size() * kBlockTokens, kBlockTokens);
    seq->keys.push_back(chain_.Next(parent, tokens));
  }
}

PrefixHit BlockLedger::FindPrefix(const Sequence& seq) const {
  // Prompt logprobs need the logits of every position, so such a request computes its prompt.
  const size_t most = seq.wants_prompt_logprobs() ? 0 : (seq.tokens.size() - 1) / kBlockTokens;
  return index_.Find(std::span(seq.keys).first(std::min(seq.keys.size(), most)));
}

void BlockLedger::TakePrefix(const PrefixHit& hit, Sequence* seq) {
  seq->tables.resize(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    BlockTable& table = seq->tables[g];
    table.first_block_idx = hit.groups[g].first_block_idx;
    table.announced_first_idx = table.first_block_idx;
    table.blocks = hit.groups[g].blocks;
    for (const BlockId block : table.blocks) pool_.Share(block);
  }
  seq->end_block_idx = hit.num_blocks;
  seq->num_sealed_blocks = hit.num_blocks;
  seq->num_computed = hit.num_blocks * kBlockTokens;
  seq->num_planned = seq->num_computed;
}

int32_t BlockLedger::NumCachedBlocks(const PrefixHit& hit) const {
  int32_t total = 0;
  for (const PrefixHit::Group& group : hit.groups) {
    total += static_cast<int32_t>(std::count_if(group.blocks.begin(), group.blocks.end(),
                                                [&](BlockId block) { return pool_.IsCached(block); }));
  }
  return total;
}

int32_t BlockLedger::TokensThatFit(const Sequence& seq) const {
  const int32_t num_new = pool_.num_available() / static_cast<int32_t>(groups_.size());
  return (seq.end_block_idx + num_new) * kBlockTokens - seq.num_planned;
}

bool BlockLedger::TryExtend(int32_t num_tokens, Sequence* seq, StepPlan* plan) {
  const int32_t end = seq->num_planned + num_tokens;
  const int32_t num_new = CeilBlocks(end) - seq->end_block_idx;
  if (num_new <= 0) return true;
  scratch_.clear();
  if (!pool_.TryAllocate(num_new * static_cast<int32_t>(groups_.size()), &scratch_)) return false;
  auto next = scratch_.begin();
  for (int32_t i = 0; i < num_new; ++i) {
    const int32_t block_idx = seq->end_block_idx + i;
    for (size_t g = 0; g < groups_.size(); ++g, ++next) {
      seq->tables[g].blocks.push_back(*next);
      plan->appended.push_back({seq->slot, static_cast<uint16_t>(g), block_idx, *next});
      if ((block_idx + 1) * kBlockTokens > end) plan->zeroed.push_back(*next);
    }
  }
  seq->end_block_idx += num_new;
  return true;
}

void BlockLedger::Announce(Sequence* seq, StepPlan* plan) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    BlockTable& table = seq->tables[g];
    table.announced_first_idx = table.first_block_idx;
    int32_t block_idx = table.first_block_idx;
    for (const BlockId block : table.blocks) {
      plan->appended.push_back({seq->slot, static_cast<uint16_t>(g), block_idx++, block});
    }
  }
}

void BlockLedger::Trim(Sequence* seq) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].window == 0) continue;
    BlockTable& table = seq->tables[g];
    const int32_t first = FirstVisibleBlock(groups_[g].window, seq->num_computed);
    const int32_t num_gone =
        std::min(first - table.first_block_idx, static_cast<int32_t>(table.blocks.size()));
    if (num_gone <= 0) continue;
    for (int32_t i = num_gone; i-- > 0;) pool_.Release(table.blocks[static_cast<size_t>(i)]);
    table.blocks.erase(table.blocks.begin(), table.blocks.begin() + num_gone);
    table.first_block_idx += num_gone;
  }
}

void BlockLedger::SealBlocks(Sequence* seq) {
  const int32_t num_full = seq->num_computed / kBlockTokens;
  if (!enable_prefix_caching_ || seq->num_sealed_blocks >= num_full) return;
  ExtendKeys(seq);
  for (; seq->num_sealed_blocks < num_full; ++seq->num_sealed_blocks) {
    const int32_t block_idx = seq->num_sealed_blocks;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const BlockTable& table = seq->tables[g];
      if (block_idx < table.first_block_idx) continue;
      index_.TryInsert(seq->keys[static_cast<size_t>(block_idx)], static_cast<uint16_t>(g),
                       table.blocks[static_cast<size_t>(block_idx - table.first_block_idx)]);
    }
  }
}

void BlockLedger::ReleaseAll(Sequence* seq) {
  for (int32_t block_idx = seq->end_block_idx; block_idx-- > 0;) {
    for (BlockTable& table : seq->tables) {
      if (block_idx < table.first_block_idx) continue;
      pool_.Release(table.blocks[static_cast<size_t>(block_idx - table.first_block_idx)]);
    }
  }
  seq->tables.clear();
  seq->end_block_idx = 0;
  seq->num_sealed_blocks = 0;
}

}  // namespace firebrick
