// The normalisers of tokenizer.json that we implement. Thread: const after building; any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace firebrick {

enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Normalises valid UTF-8, as tokenizers does (Unicode 9: later code points are left alone). O(n log n).
std::string NormalizeUnicode(std::string_view text, UnicodeForm form);

struct NormalizerStep {
  enum class Kind : uint8_t { kUnicode, kPrepend, kReplace, kStrip };
  Kind kind = Kind::kUnicode;
  UnicodeForm form = UnicodeForm::kNfc;
  std::string from;    // kReplace: a literal, not empty
  std::string to;      // kReplace, kPrepend
  bool left = false;   // kStrip: whitespace at the start
  bool right = false;  // kStrip: whitespace at the end
};

class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}
  bool is_identity() const { return steps_.empty(); }
  // `marks`, where given, holds one byte for each byte of the text (1: written by the template) and is kept
  // in step: a byte made from several is marked where all of them were.
  void Apply(std::string* text, std::vector<uint8_t>* marks) const;

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace firebrick
