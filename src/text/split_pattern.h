// The patterns by which pre-tokenizers cut text. The expressions that model families use are matched by hand
// (several times faster, and with the Unicode version of the original); any other runs in PCRE2.
// Thread: const after Compile; any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/regex.h"

namespace firebrick {

// Half-open range of bytes.
struct TextRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t size() const { return end - begin; }
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

class SplitPattern {
 public:
  // A regular expression in the dialect of tokenizer.json.
  static Result<SplitPattern> FromRegex(std::string_view regex);
  // The same, always in PCRE2: the oracle of the hand-written matchers.
  static Result<SplitPattern> FromRegexByPcre(std::string_view regex);
  static SplitPattern FromLiteral(std::string_view literal);  // not empty

  // Appends the matches in `text` (valid UTF-8), in order; a range may be empty (a border without a width).
  Status FindMatches(std::string_view text, std::vector<TextRange>* matches) const;
  bool is_hand_written() const { return kind_ != Kind::kRegex && kind_ != Kind::kLiteral; }

 private:
  enum class Kind : uint8_t {
    kRegex,
    kLiteral,
    kWords,          // letter runs with one leading symbol, numbers, symbols, whitespace: Llama 3, Qwen
    kCasedWords,     // letter runs cut where lower case turns to upper: GPT-4o, tekken
    kSpacedWords,    // runs with a leading space: GPT-2
    kNumbers,        // \p{N}{1,max}
    kIdeographs,     // DeepSeek's CJK and kana runs
    kDeepSeekWords,  // DeepSeek V3's main expression
  };
  struct Known;
  static const Known* FindKnown(std::string_view regex);

  Kind kind_ = Kind::kRegex;
  uint32_t max_digits_ = 0;      // of a number; 0: no bound
  bool marks_in_words_ = false;  // kWords: \p{M} counts as a letter
  bool contractions_ = false;    // kCasedWords: 's, 'll … belong to the word
  std::string literal_;
  std::shared_ptr<const Regex> regex_;  // shared: patterns are copied into specs, the compiled form is const
};

}  // namespace firebrick
