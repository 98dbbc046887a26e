#include "text/bpe.h"

#include <algorithm>
#include <functional>

#include "text/byte_level.h"
#include "text/unicode_class.h"

namespace firebrick {
namespace {

constexpr std::string_view kWordMark = "\u2581";  // "▁", SentencePiece's space
constexpr size_t kMaxShort = 40;                  // symbols; above it the heap is faster
constexpr size_t kMaxCachedPiece = 64;            // bytes
constexpr size_t kCacheSlots = 1 << 14;
constexpr size_t kMaxCacheBytes = 4 << 20;
constexpr size_t kMinCachedText = 4 << 10;

uint64_t HashPair(uint64_t pair) {
  pair *= 0x9e3779b97f4a7c15ULL;
  return pair ^ (pair >> 29);
}

// Where the next word begins: the first "▁" behind `pos` that follows another character; the end where none.
size_t NextWord(std::string_view text, size_t pos) {
  for (size_t at = text.find(kWordMark, pos + 1); at != std::string_view::npos;
       at = text.find(kWordMark, at + 1)) {
    if (at < kWordMark.size() || text.substr(at - kWordMark.size(), kWordMark.size()) != kWordMark) return at;
  }
  return text.size();
}

}  // namespace

BpeScratch::BpeScratch(size_t text_bytes) {
  if (text_bytes >= kMinCachedText) slots_.resize(kCacheSlots);
}

BpeModel BpeModel::Build(const Vocabulary& vocabulary, const std::vector<Merge>& merges,
                         const BpeOptions& options) {
  BpeModel model;
  model.options_ = options;
  for (int byte = 0; byte < 256; ++byte) {
    std::string text;
    if (options.byte_level) {
      AppendByteLevel(static_cast<unsigned char>(byte), &text);
    } else {
      text = ByteToken(static_cast<uint8_t>(byte));
    }
    model.byte_ids_[static_cast<size_t>(byte)] = vocabulary.Find(text);
    if (byte < 128) {
      const char c = static_cast<char>(byte);
      model.ascii_ids_[static_cast<size_t>(byte)] = vocabulary.Find({&c, 1});
    }
  }
  size_t capacity = 16;
  while (capacity < merges.size() * 2) capacity *= 2;
  model.slots_.resize(capacity);
  for (const Merge& merge : merges) model.AddMerge(merge);
  model.cut_at_words_ = !options.byte_level && !options.ignore_merges && vocabulary.Find(kWordMark) >= 0 &&
                        model.WordsNeverJoin(vocabulary, merges);
  return model;
}

void BpeModel::AddMerge(const Merge& merge) {
  const uint64_t pair = PairOf(merge.left, merge.right);
  size_t slot = HashPair(pair) & (slots_.size() - 1);
  while (slots_[slot].pair != kNoPair && slots_[slot].pair != pair) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = {pair, merge.merged, merge.rank};  // the last one of a pair wins, as in tokenizers
}

const BpeModel::Slot* BpeModel::FindMerge(int32_t left, int32_t right) const {
  const uint64_t pair = PairOf(left, right);
  size_t slot = HashPair(pair) & (slots_.size() - 1);
  while (slots_[slot].pair != pair) {
    if (slots_[slot].pair == kNoPair) return nullptr;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return &slots_[slot];
}

bool BpeModel::WordsNeverJoin(const Vocabulary& vocabulary, const std::vector<Merge>& merges) const {
  return std::none_of(merges.begin(), merges.end(), [&](const Merge& merge) {
    const std::string_view text = vocabulary.Text(merge.merged);
    return NextWord(text, 0) != text.size();
  });
}

void BpeModel::Encode(const Vocabulary& vocabulary, std::string_view piece, BpeScratch* scratch,
                      std::vector<int32_t>* out) const {
  if (!cut_at_words_) return EncodeCached(vocabulary, piece, scratch, out);
  for (size_t pos = 0; pos < piece.size();) {
    const size_t end = NextWord(piece, pos);
    EncodeCached(vocabulary, piece.substr(pos, end - pos), scratch, out);
    pos = end;
  }
}

void BpeModel::EncodeCached(const Vocabulary& vocabulary, std::string_view piece, BpeScratch* scratch,
                            std::vector<int32_t>* out) const {
  if (scratch->slots_.empty() || piece.size() > kMaxCachedPiece) {
    return EncodeUncached(vocabulary, piece, scratch, out);
  }
  BpeScratch::Cached& cached = scratch->slots_[std::hash<std::string_view>()(piece) & (kCacheSlots - 1)];
  const std::string_view key(scratch->keys_.data() + cached.key_offset, cached.key_length);
  if (cached.key_length != 0 && key == piece) {
    const auto first = scratch->cached_ids_.begin() + cached.ids_offset;
    out->insert(out->end(), first, first + cached.ids_count);
    return;
  }
  const size_t before = out->size();
  EncodeUncached(vocabulary, piece, scratch, out);
  if (scratch->keys_.size() + piece.size() > kMaxCacheBytes) {  // full: begin again
    std::fill(scratch->slots_.begin(), scratch->slots_.end(), BpeScratch::Cached{});
    scratch->keys_.clear();
    scratch->cached_ids_.clear();
  }
  cached = {static_cast<uint32_t>(scratch->keys_.size()), static_cast<uint32_t>(piece.size()),
            static_cast<uint32_t>(scratch->cached_ids_.size()), static_cast<uint32_t>(out->size() - before)};
  scratch->keys_ += piece;
  scratch->cached_ids_.insert(scratch->cached_ids_.end(), out->begin() + static_cast<std::ptrdiff_t>(before),
                              out->end());
}

void BpeModel::EncodeUncached(const Vocabulary& vocabulary, std::string_view piece, BpeScratch* scratch,
                              std::vector<int32_t>* out) const {
  if (options_.ignore_merges) {
    std::string_view text = piece;
    if (options_.byte_level) {
      scratch->letters_.clear();
      for (const char c : piece) AppendByteLevel(static_cast<unsigned char>(c), &scratch->letters_);
      text = scratch->letters_;
    }
    if (const int32_t id = vocabulary.Find(text); id >= 0) {
      out->push_back(id);
      return;
    }
  }
  scratch->ids_.clear();
  StartSymbols(vocabulary, piece, &scratch->ids_);
  if (scratch->ids_.size() <= kMaxShort) {
    MergeShort(&scratch->ids_);
    out->insert(out->end(), scratch->ids_.begin(), scratch->ids_.end());
    return;
  }
  MergeLong(scratch);
  for (int32_t pos = 0; pos >= 0; pos = scratch->symbols_[static_cast<size_t>(pos)].next) {
    out->push_back(scratch->symbols_[static_cast<size_t>(pos)].id);
  }
}

bool BpeModel::AppendBytes(std::string_view bytes, std::vector<int32_t>* ids) const {
  for (const char c : bytes) {
    if (byte_ids_[static_cast<unsigned char>(c)] < 0) return false;
  }
  for (const char c : bytes) ids->push_back(byte_ids_[static_cast<unsigned char>(c)]);
  return true;
}

// One id per character (or per byte), in the way of tokenizers: characters that nothing covers are dropped
// where there is no unknown token, and a fused unknown token comes where the next known one does.
void BpeModel::StartSymbols(const Vocabulary& vocabulary, std::string_view piece,
                            std::vector<int32_t>* ids) const {
  size_t num_unknown = 0;
  const auto flush_unknown = [&] {
    if (num_unknown > 0 && options_.fuse_unk) num_unknown = 1;
    if (options_.unk_id.has_value()) ids->insert(ids->end(), num_unknown, *options_.unk_id);
    num_unknown = 0;
  };
  for (size_t pos = 0; pos < piece.size();) {
    const size_t length = options_.byte_level ? 1 : CharLength(piece[pos]);
    const auto first = static_cast<unsigned char>(piece[pos]);
    const std::string_view symbol = piece.substr(pos, length);
    pos += length;
    const int32_t id = options_.byte_level ? byte_ids_[first]
                       : length == 1       ? ascii_ids_[first]
                                           : vocabulary.Find(symbol);
    if (id >= 0) {
      flush_unknown();
      ids->push_back(id);
    } else if (!options_.byte_fallback || !AppendBytes(symbol, ids)) {
      ++num_unknown;
    }
  }
  flush_unknown();
}

// Scans for the best pair again and again: quadratic, and fastest for the few symbols of a word.
void BpeModel::MergeShort(std::vector<int32_t>* ids) const {
  constexpr uint32_t kNone = ~uint32_t{0};
  std::array<uint32_t, kMaxShort> ranks;  // of the pair that begins at i
  std::array<int32_t, kMaxShort> merged;
  size_t count = ids->size();
  int32_t* id = ids->data();
  const auto look_up = [&](size_t i) {
    const Slot* slot = FindMerge(id[i], id[i + 1]);
    ranks[i] = slot == nullptr ? kNone : slot->rank;
    merged[i] = slot == nullptr ? -1 : slot->merged;
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNone) break;
    id[best] = merged[best];
    for (size_t i = best + 1; i + 1 < count; ++i) {
      id[i] = id[i + 1];
      ranks[i] = ranks[i + 1];
      merged[i] = merged[i + 1];
    }
    --count;
    if (best + 1 < count) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  ids->resize(count);
}

void BpeModel::PushCandidate(const std::vector<BpeScratch::Symbol>& symbols, int32_t pos,
                             std::vector<BpeScratch::Candidate>* heap) const {
  const BpeScratch::Symbol& symbol = symbols[static_cast<size_t>(pos)];
  if (symbol.next < 0) return;
  const int32_t right = symbols[static_cast<size_t>(symbol.next)].id;
  const Slot* slot = FindMerge(symbol.id, right);
  if (slot == nullptr) return;
  heap->push_back({uint64_t{slot->rank} << 32 | static_cast<uint32_t>(pos), symbol.id, right, slot->merged});
}

// A heap of candidate merges over a linked list of symbols. A candidate is stale, and skipped, where its
// position no longer holds the pair that it names.
void BpeModel::MergeLong(BpeScratch* scratch) const {
  std::vector<BpeScratch::Symbol>& symbols = scratch->symbols_;
  std::vector<BpeScratch::Candidate>& heap = scratch->heap_;
  const auto count = static_cast<int32_t>(scratch->ids_.size());
  symbols.resize(scratch->ids_.size());
  heap.clear();
  for (int32_t i = 0; i < count; ++i) {
    symbols[static_cast<size_t>(i)] = {scratch->ids_[static_cast<size_t>(i)], i - 1,
                                       i + 1 < count ? i + 1 : -1};
  }
  for (int32_t i = 0; i < count; ++i) PushCandidate(symbols, i, &heap);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const BpeScratch::Candidate top = heap.back();
    heap.pop_back();
    const auto pos = static_cast<int32_t>(top.order & 0xffffffff);
    BpeScratch::Symbol& symbol = symbols[static_cast<size_t>(pos)];
    if (symbol.id != top.left || symbol.next < 0) continue;
    BpeScratch::Symbol& right = symbols[static_cast<size_t>(symbol.next)];
    if (right.id != top.right) continue;
    symbol.id = top.merged;
    right.id = -1;  // gone; its own candidates are stale
    symbol.next = right.next;
    if (symbol.next >= 0) symbols[static_cast<size_t>(symbol.next)].prev = pos;
    const auto push = [&](int32_t at) {
      const size_t before = heap.size();
      PushCandidate(symbols, at, &heap);
      if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    push(pos);
    if (symbol.prev >= 0) push(symbol.prev);
  }
}

}  // namespace firebrick
