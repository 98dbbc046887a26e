#include "text/split_pattern.h"

#include <utility>

#include "text/split_matchers.h"

namespace firebrick {

// A well-known expression, as tokenizer.json files write it.
struct SplitPattern::Known {
  std::string_view regex;
  Kind kind;
  uint32_t max_digits = 0;
  bool marks_in_words = false;
  bool contractions = false;
};

const SplitPattern::Known* SplitPattern::FindKnown(std::string_view regex) {
#define FIREBRICK_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define FIREBRICK_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define FIREBRICK_SPACE R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define FIREBRICK_SHORT R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
  static constexpr Known kKnown[] = {
      // Llama 3, GLM 4, SmolLM 3
      {FIREBRICK_SHORT R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" FIREBRICK_SPACE,
       Kind::kWords, 3},
      // Qwen 2 and 3
      {FIREBRICK_SHORT R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" FIREBRICK_SPACE,
       Kind::kWords, 1},
      // Qwen 3.5
      {FIREBRICK_SHORT
       R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" FIREBRICK_SPACE,
       Kind::kWords, 1, true},
      // gpt-oss, GPT-4o, Llama 4
      {R"([^\r\n\p{L}\p{N}]?)" FIREBRICK_UPPER "*" FIREBRICK_LOWER "+" FIREBRICK_SHORT
       R"(?|[^\r\n\p{L}\p{N}]?)" FIREBRICK_UPPER "+" FIREBRICK_LOWER "*" FIREBRICK_SHORT
       R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" FIREBRICK_SPACE,
       Kind::kCasedWords, 3, false, true},
      // Mistral's tekken
      {R"([^\r\n\p{L}\p{N}]?)" FIREBRICK_UPPER "*" FIREBRICK_LOWER R"(+|[^\r\n\p{L}\p{N}]?)" FIREBRICK_UPPER
       "+" FIREBRICK_LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" FIREBRICK_SPACE,
       Kind::kCasedWords, 1},
      // GPT-2, and the ByteLevel pre-tokenizer
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Kind::kSpacedWords},
      {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Kind::kSpacedWords},
      // DeepSeek V3
      {R"(\p{N}{1,3})", Kind::kNumbers, 3},
      {R"(\p{N})", Kind::kNumbers, 1},
      {"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", Kind::kIdeographs},
      {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
       "\r\n"
       R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
       "\r\n"
       R"(]*|\s*[)"
       "\r\n"
       R"(]+|\s+(?!\S)|\s+)",
       Kind::kDeepSeekWords},
  };
#undef FIREBRICK_UPPER
#undef FIREBRICK_LOWER
#undef FIREBRICK_SPACE
#undef FIREBRICK_SHORT
  for (const Known& known : kKnown) {
    if (known.regex == regex) return &known;
  }
  return nullptr;
}

Result<SplitPattern> SplitPattern::FromRegex(std::string_view regex) {
  const Known* known = FindKnown(regex);
  if (known == nullptr) return FromRegexByPcre(regex);
  SplitPattern pattern;
  pattern.kind_ = known->kind;
  pattern.max_digits_ = known->max_digits;
  pattern.marks_in_words_ = known->marks_in_words;
  pattern.contractions_ = known->contractions;
  return pattern;
}

Result<SplitPattern> SplitPattern::FromRegexByPcre(std::string_view regex) {
  ASSIGN_OR_RETURN(Regex compiled, Regex::Compile(regex));
  SplitPattern pattern;
  pattern.regex_ = std::make_shared<const Regex>(std::move(compiled));
  return pattern;
}

SplitPattern SplitPattern::FromLiteral(std::string_view literal) {
  SplitPattern pattern;
  pattern.kind_ = Kind::kLiteral;
  pattern.literal_ = std::string(literal);
  return pattern;
}

namespace {

template <typename Matcher>
void RunMatcher(const Matcher& matcher, std::string_view text, std::vector<TextRange>* matches) {
  const CharScanner scanner(text);
  for (size_t pos = 0; pos < text.size();) {
    const size_t end = matcher.Match(scanner, pos);
    if (end > pos) {
      matches->push_back({static_cast<uint32_t>(pos), static_cast<uint32_t>(end)});
      pos = end;
    } else {
      pos = scanner.Next(pos);
    }
  }
}

Status RunRegex(const Regex& regex, std::string_view text, std::vector<TextRange>* matches) {
  RegexSearch search(regex, text);
  size_t from = 0;
  while (from <= text.size()) {
    size_t begin = 0;
    size_t end = 0;
    ASSIGN_OR_RETURN(const bool found, search.FindNext(from, &begin, &end));
    if (!found) break;
    const bool repeats_border = begin == end && !matches->empty() && matches->back().end == end;
    if (!repeats_border) matches->push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    from = end > begin ? end : end < text.size() ? end + CharLength(text[end]) : end + 1;
  }
  return OkStatus();
}

}  // namespace

Status SplitPattern::FindMatches(std::string_view text, std::vector<TextRange>* matches) const {
  switch (kind_) {
    case Kind::kRegex:
      return RunRegex(*regex_, text, matches);
    case Kind::kLiteral:
      for (size_t pos = text.find(literal_); pos != std::string_view::npos;
           pos = text.find(literal_, pos + literal_.size())) {
        matches->push_back({static_cast<uint32_t>(pos), static_cast<uint32_t>(pos + literal_.size())});
      }
      break;
    case Kind::kWords:
      RunMatcher(WordsMatcher(max_digits_, marks_in_words_), text, matches);
      break;
    case Kind::kCasedWords:
      RunMatcher(CasedWordsMatcher(max_digits_, contractions_), text, matches);
      break;
    case Kind::kSpacedWords:
      RunMatcher(SpacedWordsMatcher(), text, matches);
      break;
    case Kind::kNumbers:
      RunMatcher(NumbersMatcher(max_digits_), text, matches);
      break;
    case Kind::kIdeographs:
      RunMatcher(IdeographsMatcher(), text, matches);
      break;
    case Kind::kDeepSeekWords:
      RunMatcher(DeepSeekWordsMatcher(), text, matches);
      break;
  }
  return OkStatus();
}

}  // namespace firebrick
