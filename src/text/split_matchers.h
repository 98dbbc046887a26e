// Hand-written matchers of the well-known pre-tokenizer expressions. Each class stands for one expression,
// names it, and follows its alternatives in order; Match(pos) gives the end of the match that begins at pos,
// or pos where there is none. All take time linear in the length of the match (a run of whitespace or of
// capitals may be read twice). Thread: any. Tested against PCRE2 (split_pattern_test.cc) and against
// tokenizers (tools/compare_tokenizers.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/unicode_class.h"

namespace firebrick {

// Reads classes of characters in valid UTF-8.
class CharScanner {
 public:
  explicit CharScanner(std::string_view text) : text_(text), classes_(CharClasses::Get()) {}
  size_t size() const { return text_.size(); }
  char Byte(size_t pos) const { return text_[pos]; }
  uint16_t Classes(size_t pos) const { return classes_.Of(DecodeChar(text_.data() + pos).code_point); }
  uint32_t CodePoint(size_t pos) const { return DecodeChar(text_.data() + pos).code_point; }
  size_t Next(size_t pos) const { return pos + CharLength(text_[pos]); }
  // The end of the longest run at `pos` of characters that have a class of `wanted`, at most max_chars of
  // them.
  size_t RunOf(uint16_t wanted, size_t pos, size_t max_chars = SIZE_MAX) const {
    for (; pos < size() && max_chars > 0 && (Classes(pos) & wanted) != 0; --max_chars) pos = Next(pos);
    return pos;
  }
  // The same for characters that have none of `unwanted`.
  size_t RunWithout(uint16_t unwanted, size_t pos) const {
    while (pos < size() && (Classes(pos) & unwanted) == 0) pos = Next(pos);
    return pos;
  }
  size_t RunOfNewlines(size_t pos) const {
    while (pos < size() && (text_[pos] == '\r' || text_[pos] == '\n')) ++pos;
    return pos;
  }
  // 's 't 're 've 'm 'll 'd. With any_case also in capitals, and the long s U+017F as Unicode folds it.
  size_t Contraction(size_t pos, bool any_case) const;
  // \s*[\r\n]+|\s+(?!\S)|\s+ , or without newlines_first only the last two.
  size_t Whitespace(size_t pos, bool newlines_first) const;

 private:
  std::string_view text_;
  const CharClasses& classes_;
};

inline size_t CharScanner::Contraction(size_t pos, bool any_case) const {
  if (pos + 1 >= size() || text_[pos] != '\'') return pos;
  const auto letter = [&](size_t at) {
    if (at >= size()) return '\0';
    return any_case && text_[at] >= 'A' && text_[at] <= 'Z' ? static_cast<char>(text_[at] | 0x20) : text_[at];
  };
  const char first = letter(pos + 1);
  const char second = letter(pos + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return pos + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return pos + 3;
  if (first == 'l' && second == 'l') return pos + 3;
  if (any_case && text_.substr(pos + 1, 2) == "\xc5\xbf") return pos + 3;
  return pos;
}

inline size_t CharScanner::Whitespace(size_t pos, bool newlines_first) const {
  size_t last = pos;         // where the last character of the run begins
  size_t newline_end = pos;  // behind the last newline of the run
  size_t end = pos;
  while (end < size()) {
    const uint16_t classes = Classes(end);
    if ((classes & char_class::kSpace) == 0) break;
    last = end;
    end = Next(end);
    if ((classes & char_class::kNewline) != 0) newline_end = end;
  }
  if (newlines_first && newline_end > pos) return newline_end;
  if (end == size() || last == pos) return end;
  return last;  // the last one stays for the word behind it
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|…
// With marks_in_words \p{L} is [\p{L}\p{M}] where it stands alone, and \p{M} is excluded with it from
// symbols.
class WordsMatcher {
 public:
  WordsMatcher(uint32_t max_digits, bool marks_in_words)
      : max_digits_(max_digits == 0 ? SIZE_MAX : max_digits),
        word_(marks_in_words ? char_class::kLetter | char_class::kMark : char_class::kLetter) {}
  size_t Match(const CharScanner& text, size_t pos) const {
    using namespace char_class;
    const uint16_t classes = text.Classes(pos);
    if ((classes & kLetter) != 0) return text.RunOf(word_, pos);
    if (text.Byte(pos) == '\'') {
      if (const size_t end = text.Contraction(pos, true); end > pos) return end;
    }
    const size_t next = text.Next(pos);
    if ((classes & (kNewline | kNumber)) == 0) {
      if (const size_t end = text.RunOf(word_, next); end > next) return end;
    }
    if ((classes & word_) != 0) return text.RunOf(word_, pos);  // a mark that nothing follows
    if ((classes & kNumber) != 0) return text.RunOf(kNumber, pos, max_digits_);
    const uint16_t no_symbol = kSpace | kNumber | kLetter | word_;
    const size_t symbols = text.Byte(pos) == ' ' ? next : pos;
    if (const size_t end = text.RunWithout(no_symbol, symbols); end > symbols) return text.RunOfNewlines(end);
    return text.Whitespace(pos, true);
  }

 private:
  size_t max_digits_;
  uint16_t word_;
};

// U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], W = [\p{Ll}\p{Lm}\p{Lo}\p{M}], C = (?i:'s|'t|'re|'ve|'m|'ll|'d)? or
// nothing:
// [^\r\n\p{L}\p{N}]?U*W+C|[^\r\n\p{L}\p{N}]?U+W*C|\p{N}{1,max}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|…
class CasedWordsMatcher {
 public:
  CasedWordsMatcher(uint32_t max_digits, bool contractions)
      : max_digits_(max_digits), contractions_(contractions) {}
  size_t Match(const CharScanner& text, size_t pos) const {
    using namespace char_class;
    const uint16_t classes = text.Classes(pos);
    const size_t next = text.Next(pos);
    const bool may_lead = (classes & (kNewline | kLetter | kNumber)) == 0;
    if (size_t end = Word(text, pos, next, may_lead); end > pos) {
      return contractions_ ? text.Contraction(end, true) : end;
    }
    if ((classes & kNumber) != 0) return text.RunOf(kNumber, pos, max_digits_);
    const size_t symbols = text.Byte(pos) == ' ' ? next : pos;
    size_t end = text.RunWithout(kSpace | kLetter | kNumber, symbols);
    if (end == symbols) return text.Whitespace(pos, true);
    while (end < text.size() && (text.Byte(end) == '\r' || text.Byte(end) == '\n' || text.Byte(end) == '/'))
      ++end;
    return end;
  }

 private:
  // U*W+ at pos, greedy with backtracking: where no W follows the run of U, the match ends at the last
  // character of the run that is in W too.
  static size_t LowerEnd(const CharScanner& text, size_t pos) {
    using namespace char_class;
    size_t at = pos;
    size_t last_lower_end = pos;
    for (; at < text.size(); at = text.Next(at)) {
      const uint16_t classes = text.Classes(at);
      if ((classes & kUpperish) == 0) break;
      if ((classes & kLowerish) != 0) last_lower_end = text.Next(at);
    }
    const size_t end = text.RunOf(kLowerish, at);
    return end > at ? end : last_lower_end;
  }
  // The two word alternatives, each first with a leading character, then without; pos where neither matches.
  static size_t Word(const CharScanner& text, size_t pos, size_t next, bool may_lead) {
    using namespace char_class;
    if (may_lead) {
      if (const size_t end = LowerEnd(text, next); end > next) return end;
    }
    if (const size_t end = LowerEnd(text, pos); end > pos) return end;
    if (may_lead) {
      if (const size_t end = text.RunOf(kUpperish, next); end > next) return text.RunOf(kLowerish, end);
    }
    const size_t end = text.RunOf(kUpperish, pos);
    return end > pos ? text.RunOf(kLowerish, end) : pos;
  }
  size_t max_digits_;
  bool contractions_;
};

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
class SpacedWordsMatcher {
 public:
  size_t Match(const CharScanner& text, size_t pos) const {
    using namespace char_class;
    if (const size_t end = text.Contraction(pos, false); end > pos) return end;
    const size_t start = text.Byte(pos) == ' ' ? pos + 1 : pos;
    if (const size_t end = text.RunOf(kLetter, start); end > start) return end;
    if (const size_t end = text.RunOf(kNumber, start); end > start) return end;
    if (const size_t end = text.RunWithout(kSpace | kLetter | kNumber, start); end > start) return end;
    return text.Whitespace(pos, false);
  }
};

// \p{N}{1,max}
class NumbersMatcher {
 public:
  explicit NumbersMatcher(uint32_t max_digits) : max_digits_(max_digits == 0 ? SIZE_MAX : max_digits) {}
  size_t Match(const CharScanner& text, size_t pos) const {
    return text.RunOf(char_class::kNumber, pos, max_digits_);
  }

 private:
  size_t max_digits_;
};

// [一-龥぀-ゟ゠-ヿ]+
class IdeographsMatcher {
 public:
  size_t Match(const CharScanner& text, size_t pos) const {
    while (pos < text.size() && IsIdeograph(text.CodePoint(pos))) pos = text.Next(pos);
    return pos;
  }

 private:
  static bool IsIdeograph(uint32_t code) {
    return (code >= 0x4e00 && code <= 0x9fa5) || (code >= 0x3040 && code <= 0x30ff);
  }
};

// [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|…
class DeepSeekWordsMatcher {
 public:
  size_t Match(const CharScanner& text, size_t pos) const {
    using namespace char_class;
    const uint16_t classes = text.Classes(pos);
    const size_t next = text.Next(pos);
    if (next == pos + 1 && (classes & (kPunctuation | kSymbol)) != 0) {
      size_t end = next;
      while (end < text.size() && IsAsciiLetter(text.Byte(end))) ++end;
      if (end > next) return end;
    }
    if ((classes & (kNewline | kLetter | kPunctuation | kSymbol)) == 0) {
      if (const size_t end = text.RunOf(kLetter | kMark, next); end > next) return end;
    }
    if (const size_t end = text.RunOf(kLetter | kMark, pos); end > pos) return end;
    const size_t symbols = text.Byte(pos) == ' ' ? next : pos;
    if (const size_t end = text.RunOf(kPunctuation | kSymbol, symbols); end > symbols) {
      return text.RunOfNewlines(end);
    }
    return text.Whitespace(pos, true);
  }

 private:
  static bool IsAsciiLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
};

}  // namespace firebrick
