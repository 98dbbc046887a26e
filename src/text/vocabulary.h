// Token texts and ids. Thread: built by one thread, then const; any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firebrick {

class Vocabulary {
 public:
  static constexpr int32_t kMaxTokens = 4 << 20;
  static constexpr size_t kMaxTokenBytes = 64 << 10;

  // Refuses an id that is taken or outside of [0, kMaxTokens), a text that is no UTF-8 or too long. A text
  // that is there already keeps its first id; the second id then decodes to it.
  Status Add(std::string_view text, int32_t id);
  int32_t Find(std::string_view text) const;  // -1 where absent
  // Empty where there is no such id.
  std::string_view Text(int32_t id) const {
    if (!Has(id)) return {};
    const Entry& entry = entries_[static_cast<size_t>(id)];
    return {arena_.data() + entry.offset, entry.length};
  }
  bool Has(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < entries_.size() && entries_[static_cast<size_t>(id)].used;
  }
  int32_t size() const { return static_cast<int32_t>(entries_.size()); }  // highest id + 1

 private:
  struct Entry {
    size_t offset = 0;
    uint32_t length = 0;
    bool used = false;
  };
  void Grow();
  size_t SlotOf(std::string_view text) const;

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<int32_t> slots_;  // open addressing, a power of two, at most half full; -1: free
  size_t num_texts_ = 0;
};

}  // namespace firebrick
