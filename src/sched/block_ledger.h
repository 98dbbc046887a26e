// BlockLedger: the pool and the prefix index, and the block tables of sequences over them. Thread: engine
// thread. Owner: Scheduler. No page is named by a sequence except through these functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kv/block_pool.h"
#include "kv/prefix_index.h"
#include "sched/scheduler_config.h"
#include "sched/sequence.h"

namespace firebrick {

// The pages that a sequence of `num_positions` needs at the least to make progress: all blocks in full
// groups, in sliding ones those of the window and the one being filled.
int32_t PeakBlocks(const std::vector<KvGroupSpec>& groups, int32_t num_positions);
// The most positions of one sequence that a pool can hold.
int32_t MaxPositions(const SchedulerConfig& config);

class BlockLedger {
 public:
  explicit BlockLedger(const SchedulerConfig& config);

  const BlockPool& pool() const { return pool_; }
  const PrefixIndex& index() const { return index_; }
  int32_t PeakBlocks(int32_t num_positions) const;

  // Prefix keys of the full blocks of seq.tokens; each block is hashed once. No-op without prefix caching.
  void SetRootKey(std::span<const uint8_t> key_root, std::string_view cache_salt, Sequence* seq);
  void ExtendKeys(Sequence* seq);
  // What the sequence can take over now; at least one token is left to compute.
  PrefixHit FindPrefix(const Sequence& seq) const;
  // Shares the pages of the hit. Nothing may touch the ledger between FindPrefix and this.
  void TakePrefix(const PrefixHit& hit, Sequence* seq);
  int32_t NumCachedBlocks(const PrefixHit& hit) const;  // of its pages, those that count as available

  // Tokens that could be planned now from the available pages, up to the end of the block.
  int32_t TokensThatFit(const Sequence& seq) const;
  // Makes the tables cover [0, seq.num_planned + num_tokens) and tells the plan; false leaves no trace.
  bool TryExtend(int32_t num_tokens, Sequence* seq, StepPlan* plan);
  // Tells a plan that opens the slot of the pages it already holds.
  void Announce(Sequence* seq, StepPlan* plan);
  // Lets go of pages that no step from num_computed on can see.
  void Trim(Sequence* seq);
  // Offers blocks that are computed wholly to the index.
  void SealBlocks(Sequence* seq);
  // Lets go of all pages, the tail first, so that eviction takes a prefix from its tail.
  void ReleaseAll(Sequence* seq);
  void EvictAll() { pool_.EvictAll(); }

 private:
  std::vector<KvGroupSpec> groups_;
  bool enable_prefix_caching_;
  PrefixIndex index_;
  BlockPool pool_;
  BlockKeyChain chain_;
  std::vector<BlockId> scratch_;
};

}  // namespace firebrick
