// Byte-pair encoding of one piece of text. Merges go by rank, equal ranks from the left: the order of Hugging
// Face (one rank per merge) and of SentencePiece (rank = order of scores). O(n log n) in the length of the
// piece. Thread: a BpeModel is const after Build; a BpeScratch belongs to one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace firebrick {

struct Merge {
  int32_t left = -1;
  int32_t right = -1;
  int32_t merged = -1;
  uint32_t rank = 0;
};

struct BpeOptions {
  bool byte_level = false;     // pieces are bytes, written in the byte-level alphabet by the vocabulary
  bool byte_fallback = false;  // an unknown character becomes its bytes <0xHH>
  bool ignore_merges = false;  // a piece that is a token is that token
  bool fuse_unk = false;       // neighbouring unknown characters are one unknown token
  std::optional<int32_t> unk_id;
};

// Memory of one encoding, used again for each piece, with a bounded cache of pieces that were seen.
class BpeScratch {
 public:
  explicit BpeScratch(size_t text_bytes);

 private:
  friend class BpeModel;
  struct Symbol {
    int32_t id;
    int32_t prev;
    int32_t next;  // -1: none
  };
  struct Candidate {
    uint64_t order;  // rank, then position
    int32_t left, right, merged;
    friend bool operator>(const Candidate& a, const Candidate& b) { return a.order > b.order; }
  };
  struct Cached {
    uint32_t key_offset = 0, key_length = 0, ids_offset = 0, ids_count = 0;
  };
  std::vector<int32_t> ids_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  std::vector<Cached> slots_;  // direct mapped; empty for short texts
  std::string keys_;
  std::vector<int32_t> cached_ids_;
  std::string letters_;
};

class BpeModel {
 public:
  // Characters that the vocabulary lacks, where it has no unknown token either, are dropped, as in
  // tokenizers.
  static BpeModel Build(const Vocabulary& vocabulary, const std::vector<Merge>& merges,
                        const BpeOptions& options);
  // Appends the ids of `piece` (valid UTF-8, or with byte_level any bytes).
  void Encode(const Vocabulary& vocabulary, std::string_view piece, BpeScratch* scratch,
              std::vector<int32_t>* out) const;

 private:
  struct Slot {
    uint64_t pair = kNoPair;
    int32_t merged = -1;
    uint32_t rank = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  static uint64_t PairOf(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  void AddMerge(const Merge& merge);
  const Slot* FindMerge(int32_t left, int32_t right) const;
  bool WordsNeverJoin(const Vocabulary& vocabulary, const std::vector<Merge>& merges) const;
  void EncodeCached(const Vocabulary& vocabulary, std::string_view piece, BpeScratch* scratch,
                    std::vector<int32_t>* out) const;
  void EncodeUncached(const Vocabulary& vocabulary, std::string_view piece, BpeScratch* scratch,
                      std::vector<int32_t>* out) const;
  void StartSymbols(const Vocabulary& vocabulary, std::string_view piece, std::vector<int32_t>* ids) const;
  bool AppendBytes(std::string_view bytes, std::vector<int32_t>* ids) const;
  void MergeShort(std::vector<int32_t>* ids) const;
  void MergeLong(BpeScratch* scratch) const;
  void PushCandidate(const std::vector<BpeScratch::Symbol>& symbols, int32_t pos,
                     std::vector<BpeScratch::Candidate>* heap) const;

  BpeOptions options_;
  std::array<int32_t, 256> byte_ids_{};  // of single bytes, in the way of the options; -1: absent
  std::array<int32_t, 128> ascii_ids_{};
  std::vector<Slot> slots_;
  bool cut_at_words_ = false;  // no merge crosses from another character to "▁", so words are pieces
};

}  // namespace firebrick
