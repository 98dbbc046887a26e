// Pre-tokenizers: cut normalised text into the pieces that BPE sees one by one. Thread: const after building;
// any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/split_pattern.h"

namespace firebrick {

// What becomes of the matches of a pattern.
enum class SplitBehavior : uint8_t { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

enum class PrependScheme : uint8_t { kNever, kFirst, kAlways };

struct PreTokenizerStep {
  enum class Kind : uint8_t {
    kSplit,      // by `pattern`
    kByteLevel,  // GPT-2's: perhaps a space in front, perhaps GPT-2's expression; BPE then sees bytes
    kMetaspace,  // spaces become `replacement`, perhaps one in front; perhaps split before each
  };
  Kind kind = Kind::kSplit;
  SplitPattern pattern;  // kSplit; kByteLevel and kMetaspace with use_pattern
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // what does not match is taken for the match
  bool use_pattern = true;
  bool add_prefix_space = false;  // kByteLevel
  std::string replacement;        // kMetaspace
  PrependScheme prepend = PrependScheme::kNever;
};

// Text and its pieces, in order; removed text is in no piece.
struct TextPieces {
  std::string text;
  std::vector<TextRange> pieces;
  bool starts_text = false;  // the first piece is at the start of what the caller encodes
};

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}
  Status Apply(TextPieces* pieces) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace firebrick
