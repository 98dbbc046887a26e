// PrefixIndex: which page holds the KV of (key, layer group). Metadata only. Thread: engine thread.
//
// Invariants: a page is indexed at most once; a (key, group) names at most one page (a second page with the
// same content stays private, so that block tables are append-only); a page leaves the index in the same call
// that takes the page for new content (BlockPool), so no entry outlives its page.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "kv/block_key.h"
#include "step/step_plan.h"

namespace firebrick {

// The first block that a token at `position` sees: window w sees (position - w, position], 0 sees all.
int32_t FirstVisibleBlock(int32_t window, int32_t position);

// What a prompt can take over. groups[g].blocks are the pages of blocks [first_block_idx, num_blocks).
struct PrefixHit {
  struct Group {
    int32_t first_block_idx = 0;
    std::vector<BlockId> blocks;
  };
  int32_t num_blocks = 0;
  std::vector<Group> groups;
};

class PrefixIndex {
 public:
  // group_windows[g]: the window of group g, 0 = full. num_blocks: pages of the arena.
  PrefixIndex(std::vector<int32_t> group_windows, int32_t num_blocks);

  // The largest n <= keys.size() so that every group holds what a token at position 32n sees of the first n
  // blocks: all of them, or those of its window. The pages are not pinned: the caller takes its references
  // before anything else touches the pool.
  PrefixHit Find(std::span<const BlockKey> keys) const;
  // False: (key, group) is there already.
  bool TryInsert(const BlockKey& key, uint16_t group, BlockId block);
  void Erase(BlockId block);
  bool Contains(BlockId block) const { return entry_of_block_[block.value()] != kNone; }

  int32_t num_blocks() const { return num_indexed_; }
  uint64_t epoch() const { return epoch_; }  // changes with every insert and erase
  // Forward and backward maps agree. O(size).
  Status Verify() const;

 private:
  static constexpr uint32_t kNone = 0xffffffffU;
  uint32_t PageOf(uint32_t entry, size_t group) const { return pages_[entry * windows_.size() + group]; }

  std::vector<int32_t> windows_;
  // An entry per key, with a page (or kNone) per group.
  std::unordered_map<BlockKey, uint32_t, BlockKeyHash> entry_of_key_;
  std::vector<BlockKey> keys_;       // [entry]
  std::vector<uint32_t> pages_;      // [entry][group]
  std::vector<uint32_t> num_pages_;  // [entry]
  std::vector<uint32_t> free_entries_;
  std::vector<uint32_t> entry_of_block_;  // [block]
  std::vector<uint16_t> group_of_block_;  // [block]
  int32_t num_indexed_ = 0;
  uint64_t epoch_ = 0;
};

}  // namespace firebrick
