// Ids to text: what each token contributes, and how contributions join. Thread: const after Build; any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace firebrick {

struct DecoderOptions {
  enum class Kind : uint8_t {
    kWords,      // no decoder: tokens joined by one space
    kByteLevel,  // tokens are bytes in the byte-level alphabet
    kText,       // tokens are text: replacements, byte fallback, stripping
  };
  Kind kind = Kind::kWords;
  std::vector<std::pair<std::string, std::string>> replacements;  // kText: of literals, in order
  bool byte_fallback = false;  // kText: <0xHH> is a byte; a run of them that is no UTF-8 is U+FFFD for each
  size_t strip_left = 0;       // kText: that many leading `strip_char` of the whole text are dropped
  std::string strip_char;      // one character, one byte
  std::string drop_in_first;   // kText: removed from the first token wherever it stands (Metaspace)
};

class TokenDecoder {
 public:
  static TokenDecoder Build(const Vocabulary& vocabulary, DecoderOptions options);
  const DecoderOptions& options() const { return options_; }
  // kByteLevel: raw bytes. Else text after replacements. Empty where there is no such token.
  std::string_view Piece(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) + 1 >= offsets_.size()) return {};
    const auto i = static_cast<size_t>(id);
    return {arena_.data() + offsets_[i], offsets_[i + 1] - offsets_[i]};
  }
  // The byte of a byte-fallback token; -1 for any other.
  int ByteOf(int32_t id) const {
    return id < 0 || static_cast<size_t>(id) >= bytes_.size() ? -1 : bytes_[static_cast<size_t>(id)];
  }
  // What a token contributes as the first one of a sequence.
  std::string FirstPiece(int32_t id, const Vocabulary& vocabulary) const;

 private:
  std::string PieceOf(std::string_view text, bool is_first) const;
  DecoderOptions options_;
  std::string arena_;
  std::vector<size_t> offsets_;
  std::vector<int16_t> bytes_;  // empty without byte fallback
};

}  // namespace firebrick
