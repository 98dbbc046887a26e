#include "kv/block_pool.h"

namespace firebrick {

BlockPool::BlockPool(int32_t num_blocks, PrefixIndex* index)
    : pages_(static_cast<size_t>(num_blocks)), index_(index) {
  free_.reserve(pages_.size());
  for (size_t i = pages_.size(); i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
}

bool BlockPool::TryAllocate(int32_t count, std::vector<BlockId>* out) {
  if (count > num_available()) return false;
  for (int32_t i = 0; i < count; ++i) {
    if (free_.empty()) {
      const uint32_t page = oldest_;
      Unlink(page);
      index_->Erase(BlockId(page));
      free_.push_back(page);
    }
    const uint32_t page = free_.back();
    free_.pop_back();
    pages_[page].references = 1;
    out->push_back(BlockId(page));
  }
  return true;
}

void BlockPool::Share(BlockId block) {
  Page& page = pages_[block.value()];
  if (page.is_cached) {
    Unlink(block.value());
  } else {
    CHECK(page.references > 0);
  }
  ++page.references;
}

void BlockPool::Release(BlockId block) {
  Page& page = pages_[block.value()];
  CHECK(page.references > 0);
  if (--page.references > 0) return;
  if (!index_->Contains(block)) {
    free_.push_back(block.value());
    return;
  }
  page.is_cached = true;
  page.older = newest_;
  page.newer = kNone;
  (newest_ == kNone ? oldest_ : pages_[newest_].newer) = block.value();
  newest_ = block.value();
  ++num_cached_;
}

void BlockPool::EvictAll() {
  while (oldest_ != kNone) {
    const uint32_t page = oldest_;
    Unlink(page);
    index_->Erase(BlockId(page));
    free_.push_back(page);
  }
}

void BlockPool::Unlink(uint32_t id) {
  Page& page = pages_[id];
  CHECK(page.is_cached);
  (page.older == kNone ? oldest_ : pages_[page.older].newer) = page.newer;
  (page.newer == kNone ? newest_ : pages_[page.newer].older) = page.older;
  page.is_cached = false;
  page.older = kNone;
  page.newer = kNone;
  --num_cached_;
}

Status BlockPool::Verify(std::span<const int32_t> expected_references) const {
  std::vector<bool> is_free(pages_.size(), false);
  for (const uint32_t page : free_) {
    if (is_free[page]) return MakeError(StatusCode::kInternal, "page {} is free twice", page);
    is_free[page] = true;
  }
  int32_t num_cached = 0;
  for (uint32_t page = oldest_; page != kNone; page = pages_[page].newer) {
    if (!pages_[page].is_cached || ++num_cached > num_cached_) {
      return MakeError(StatusCode::kInternal, "the eviction order is broken at page {}", page);
    }
  }
  if (num_cached != num_cached_) {
    return MakeError(StatusCode::kInternal, "{} pages in the eviction order, {} counted", num_cached,
                     num_cached_);
  }
  for (size_t i = 0; i < pages_.size(); ++i) {
    const Page& page = pages_[i];
    const bool is_indexed = index_->Contains(BlockId(static_cast<uint32_t>(i)));
    if (page.references != expected_references[i]) {
      return MakeError(StatusCode::kInternal, "page {} has {} references and {} holders", i, page.references,
                       expected_references[i]);
    }
    if (is_free[i] + page.is_cached + (page.references > 0) != 1) {
      return MakeError(StatusCode::kInternal, "page {} is not in exactly one state", i);
    }
    if ((is_free[i] && is_indexed) || (page.is_cached && !is_indexed)) {
      return MakeError(StatusCode::kInternal, "page {}: its index entry does not fit its state", i);
    }
  }
  return OkStatus();
}

}  // namespace firebrick
