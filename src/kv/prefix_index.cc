#include "kv/prefix_index.h"

#include <algorithm>

#include "kernels/kv_view.h"

namespace firebrick {

int32_t FirstVisibleBlock(int32_t window, int32_t position) {
  return window == 0 ? 0 : std::max(0, position - window + 1) / kBlockTokens;
}

PrefixIndex::PrefixIndex(std::vector<int32_t> group_windows, int32_t num_blocks)
    : windows_(std::move(group_windows)),
      entry_of_block_(static_cast<size_t>(num_blocks), kNone),
      group_of_block_(static_cast<size_t>(num_blocks), 0) {
  entry_of_key_.reserve(static_cast<size_t>(num_blocks));
}

PrefixHit PrefixIndex::Find(std::span<const BlockKey> keys) const {
  PrefixHit hit;
  hit.groups.resize(windows_.size());
  std::vector<uint32_t> entries;
  std::vector<int32_t> run(windows_.size(), 0);  // present blocks that end at the current one
  for (const BlockKey& key : keys) {
    const auto found = entry_of_key_.find(key);
    const uint32_t entry = found == entry_of_key_.end() ? kNone : found->second;
    entries.push_back(entry);
    const auto n = static_cast<int32_t>(entries.size());
    bool enough = true;
    bool lost = false;  // a full group misses a block: no longer prefix can hit
    for (size_t g = 0; g < windows_.size(); ++g) {
      const bool present = entry != kNone && PageOf(entry, g) != kNone;
      run[g] = present ? run[g] + 1 : 0;
      lost |= !present && windows_[g] == 0;
      enough &= run[g] >= n - FirstVisibleBlock(windows_[g], n * kBlockTokens);
    }
    if (lost) break;
    if (enough) hit.num_blocks = n;
  }
  for (size_t g = 0; g < windows_.size(); ++g) {
    PrefixHit::Group& group = hit.groups[g];
    group.first_block_idx =
        std::min(hit.num_blocks, FirstVisibleBlock(windows_[g], hit.num_blocks * kBlockTokens));
    for (int32_t i = group.first_block_idx; i < hit.num_blocks; ++i) {
      group.blocks.emplace_back(PageOf(entries[static_cast<size_t>(i)], g));
    }
  }
  return hit;
}

bool PrefixIndex::TryInsert(const BlockKey& key, uint16_t group, BlockId block) {
  DCHECK(!Contains(block));
  const auto next = static_cast<uint32_t>(free_entries_.empty() ? keys_.size() : free_entries_.back());
  const auto [where, is_new] = entry_of_key_.try_emplace(key, next);
  const uint32_t entry = where->second;
  if (is_new) {
    if (free_entries_.empty()) {
      keys_.push_back(key);
      num_pages_.push_back(0);
      pages_.resize(pages_.size() + windows_.size(), kNone);
    } else {
      free_entries_.pop_back();
      keys_[entry] = key;
    }
  }
  uint32_t& page = pages_[entry * windows_.size() + group];
  if (page != kNone) return false;
  page = block.value();
  ++num_pages_[entry];
  entry_of_block_[block.value()] = entry;
  group_of_block_[block.value()] = group;
  ++num_indexed_;
  ++epoch_;
  return true;
}

void PrefixIndex::Erase(BlockId block) {
  const uint32_t entry = entry_of_block_[block.value()];
  CHECK(entry != kNone);
  entry_of_block_[block.value()] = kNone;
  pages_[entry * windows_.size() + group_of_block_[block.value()]] = kNone;
  if (--num_pages_[entry] == 0) {
    entry_of_key_.erase(keys_[entry]);
    free_entries_.push_back(entry);
  }
  --num_indexed_;
  ++epoch_;
}

Status PrefixIndex::Verify() const {
  int32_t num_pages = 0;
  for (const auto& [key, entry] : entry_of_key_) {
    uint32_t num_of_entry = 0;
    for (size_t g = 0; g < windows_.size(); ++g) {
      const uint32_t page = PageOf(entry, g);
      if (page == kNone) continue;
      ++num_of_entry;
      if (entry_of_block_[page] != entry || group_of_block_[page] != g) {
        return MakeError(StatusCode::kInternal, "page {} is indexed under another key or group", page);
      }
    }
    if (num_of_entry == 0 || num_of_entry != num_pages_[entry] || keys_[entry] != key) {
      return MakeError(StatusCode::kInternal, "index entry {} is inconsistent", entry);
    }
    num_pages += static_cast<int32_t>(num_of_entry);
  }
  const auto num_back = std::count_if(entry_of_block_.begin(), entry_of_block_.end(),
                                      [](uint32_t entry) { return entry != kNone; });
  if (num_pages != num_indexed_ || num_back != num_indexed_) {
    return MakeError(StatusCode::kInternal, "the index counts {} pages, holds {} and is known to {}",
                     num_indexed_, num_pages, num_back);
  }
  return OkStatus();
}

}  // namespace firebrick
