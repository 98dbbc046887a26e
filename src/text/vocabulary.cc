#include "text/vocabulary.h"

#include <functional>

#include "base/utf8.h"

namespace firebrick {

Status Vocabulary::Add(std::string_view text, int32_t id) {
  if (id < 0 || id >= kMaxTokens) {
    return InvalidArgument("token id {} is outside of [0, {})", id, kMaxTokens);
  }
  if (text.size() > kMaxTokenBytes)
    return InvalidArgument("token {} has {} bytes; at most {} are allowed", id, text.size(), kMaxTokenBytes);
  if (!IsValidUtf8(text)) return InvalidArgument("the text of token {} is not valid UTF-8", id);
  if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
  Entry& entry = entries_[static_cast<size_t>(id)];
  if (entry.used) return InvalidArgument("token id {} is given twice: \"{}\" and \"{}\"", id, Text(id), text);
  entry = {arena_.size(), static_cast<uint32_t>(text.size()), true};
  arena_ += text;
  if (2 * (num_texts_ + 1) > slots_.size()) Grow();
  int32_t& slot = slots_[SlotOf(text)];
  if (slot < 0) {
    slot = id;
    ++num_texts_;
  }
  return OkStatus();
}

int32_t Vocabulary::Find(std::string_view text) const { return slots_.empty() ? -1 : slots_[SlotOf(text)]; }

size_t Vocabulary::SlotOf(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>()(text) & mask;
  while (slots_[slot] >= 0 && Text(slots_[slot]) != text) slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::Grow() {
  const std::vector<int32_t> old = std::move(slots_);
  slots_.assign(old.empty() ? 1024 : old.size() * 2, -1);
  for (const int32_t id : old) {
    if (id >= 0) slots_[SlotOf(Text(id))] = id;
  }
}

}  // namespace firebrick
