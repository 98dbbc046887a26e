// BlockPool: the pages of the arena as ids with reference counts. Knows nothing of bytes, tokens or requests.
// Thread: engine thread. Contract: docs/contracts/kv.md.
//
// Every page is in exactly one state:
//   free    no reference, not indexed
//   live    one or more references (filling, sealed or shared: the holders know)
//   cached  no reference, still indexed: may be shared again, or taken for new content, oldest first
// Invariants: free + cached + live = pool; a page of a holder is live; leaving `cached` for new content and
// leaving the index are one call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kv/prefix_index.h"
#include "step/step_plan.h"

namespace firebrick {

class BlockPool {
 public:
  // `index` outlives the pool.
  BlockPool(int32_t num_blocks, PrefixIndex* index);

  int32_t num_blocks() const { return static_cast<int32_t>(pages_.size()); }
  int32_t num_cached() const { return num_cached_; }
  int32_t num_available() const { return static_cast<int32_t>(free_.size()) + num_cached_; }
  int32_t num_live() const { return num_blocks() - num_available(); }
  bool IsCached(BlockId block) const { return pages_[block.value()].is_cached; }

  // Appends `count` pages with one reference each to `out`, evicting cached pages where no free ones are
  // left; or returns false and leaves no trace.
  bool TryAllocate(int32_t count, std::vector<BlockId>* out);
  // One more reference to a live or cached page.
  void Share(BlockId block);
  // One reference less; the last one makes the page cached (newest in the order of eviction) or free.
  void Release(BlockId block);
  // Evicts every cached page (the admin's reset, and tests).
  void EvictAll();

  // expected_references[b]: how many holders name page b. O(pool).
  Status Verify(std::span<const int32_t> expected_references) const;

 private:
  static constexpr uint32_t kNone = 0xffffffffU;
  struct Page {
    int32_t references = 0;
    bool is_cached = false;
    uint32_t older = kNone;  // neighbours in the order of eviction, while cached
    uint32_t newer = kNone;
  };
  void Unlink(uint32_t page);

  std::vector<Page> pages_;
  std::vector<uint32_t> free_;  // a stack: the page freed last is the warmest
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  int32_t num_cached_ = 0;
  PrefixIndex* index_;
};

}  // namespace firebrick
