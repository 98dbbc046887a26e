#include "text/split_pattern.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "text/gguf_vocabulary.h"
#include "text/normalizer.h"

namespace firebrick {
namespace {

// Text of what the expressions tell apart. Only code points that Unicode 14 has, the version of PCRE2, and
// not U+180E, which PCRE2 takes for a space inside of \s.
std::string RandomText(std::mt19937* random) {
  static const std::vector<std::string> parts = {
      "a",    "Z",      "Ab",     "é",      "É",      "ǅ",      "ʰ",  "中", "あ", "ー",  "ア",
      "가",   "\u0301", "\u0903", "1",      "٣",      "½",      "Ⅷ",  " ",  "  ", "\t",  "\n",
      "\r\n", "\r",     "\u00a0", "\u2028", "\u3000", "\u0085", "'",  "'s", "'S", "'re", "'LL",
      "'ſ",   "'v",     "!",      "(",      "/",      "//",     "$",  "+",  "_",  "«",   "、",
      "€",    "\u200d", "😀",      "\x01",   "\u00ad", "ß",      "_x", "ΑΒ", "дЖ"};
  std::string text;
  for (size_t i = 0; i < (*random)() % 16; ++i) text += parts[(*random)() % parts.size()];
  return text;
}

TEST(SplitPattern, HandWrittenMatchersEqualPcre) {
  int hand_written = 0;
  for (const char* name :
       {"llama-bpe", "qwen2", "qwen35", "gpt-4o", "tekken", "gpt-2", "smollm", "deepseek-v3"}) {
    const GgufPreTokenizer pre = FindGgufPreTokenizer(name).value();
    for (const std::string_view regex : pre.regexes) {
      const SplitPattern ours = SplitPattern::FromRegex(regex).value();
      const SplitPattern oracle = SplitPattern::FromRegexByPcre(regex).value();
      EXPECT_TRUE(ours.is_hand_written()) << regex;
      ++hand_written;
      std::mt19937 random(11);
      for (int round = 0; round < 3000; ++round) {
        const std::string text = RandomText(&random);
        std::vector<TextRange> left;
        std::vector<TextRange> right;
        ASSERT_TRUE(ours.FindMatches(text, &left).ok());
        ASSERT_TRUE(oracle.FindMatches(text, &right).ok());
        ASSERT_EQ(left, right) << regex << "\n" << text;
      }
    }
  }
  EXPECT_GE(hand_written, 10);
}

TEST(SplitPattern, NoMatchIsEmptyOrOutOfOrder) {
  std::mt19937 random(5);
  for (const char* name : {"llama-bpe", "gpt-4o", "deepseek-llm", "deepseek-coder", "falcon", "default"}) {
    const GgufPreTokenizer pre = FindGgufPreTokenizer(name).value();
    for (const std::string_view regex : pre.regexes) {
      const SplitPattern pattern = SplitPattern::FromRegex(regex).value();
      for (int round = 0; round < 300; ++round) {
        const std::string text = RandomText(&random);
        std::vector<TextRange> matches;
        ASSERT_TRUE(pattern.FindMatches(text, &matches).ok());
        uint32_t pos = 0;
        for (const TextRange& match : matches) {
          ASSERT_GE(match.begin, pos);
          ASSERT_GT(match.end, match.begin);
          pos = match.end;
        }
        ASSERT_LE(pos, text.size());
      }
    }
  }
}

TEST(SplitPattern, UsesOnigurumasUnicode) {  // U+1C89 and U+A7CB are letters since Unicode 16
  const SplitPattern pattern = SplitPattern::FromRegex(FindGgufPreTokenizer("qwen2")->regexes[0]).value();
  std::vector<TextRange> matches;
  ASSERT_TRUE(pattern.FindMatches("a\u1c89\ua7cb!", &matches).ok());
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0], (TextRange{0, 7}));
}

TEST(SplitPattern, EmptyMatchesAreBorders) {
  const SplitPattern pattern = SplitPattern::FromRegex("(?=[A-Z])").value();
  std::vector<TextRange> matches;
  ASSERT_TRUE(pattern.FindMatches("aBcD", &matches).ok());
  EXPECT_EQ(matches, (std::vector<TextRange>{{1, 1}, {3, 3}}));
}

TEST(SplitPattern, RunawayExpressionsEndWithAnError) {
  const SplitPattern pattern = SplitPattern::FromRegex("(a+)+(b+)+$|(?:a|aa)+c").value();
  std::vector<TextRange> matches;
  const Status status = pattern.FindMatches(std::string(60, 'a'), &matches);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
}

TEST(SplitPattern, BadExpressionsAreRefused) {
  EXPECT_EQ(SplitPattern::FromRegex("(").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SplitPattern::FromRegex(std::string(20 << 10, 'a')).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(NormalizeUnicode, ComposesAsTokenizersDoes) {
  EXPECT_EQ(NormalizeUnicode("cafe\u0301", UnicodeForm::kNfc), "caf\u00e9");
  EXPECT_EQ(NormalizeUnicode("caf\u00e9", UnicodeForm::kNfd), "cafe\u0301");
  EXPECT_EQ(NormalizeUnicode("a\u0301\u0316", UnicodeForm::kNfc), "\u00e1\u0316");
  EXPECT_EQ(NormalizeUnicode("\u1112\u1161\u11ab", UnicodeForm::kNfc), "\ud55c");
  EXPECT_EQ(NormalizeUnicode("\ufb01\u00b2", UnicodeForm::kNfkc), "fi2");
  // Its tables are of Unicode 9: a later mark is a plain character there and keeps its place.
  EXPECT_EQ(NormalizeUnicode("a\u08d3\u0301", UnicodeForm::kNfc), "a\u08d3\u0301");
}

TEST(NormalizeUnicode, MarksFollowTheirBytes) {
  const Normalizer normalizer(
      {{.kind = NormalizerStep::Kind::kPrepend, .from = {}, .to = "__"},
       {},
       {.kind = NormalizerStep::Kind::kReplace, .from = "xy", .to = "z"},
       {.kind = NormalizerStep::Kind::kStrip, .from = {}, .to = {}, .left = false, .right = true}});
  std::string text = "e\u0301xyxy ";
  std::vector<uint8_t> marks = {1, 1, 1, 1, 0, 1, 1, 1};
  normalizer.Apply(&text, &marks);
  EXPECT_EQ(text, "__\u00e9zz");
  EXPECT_EQ(marks, (std::vector<uint8_t>{1, 1, 1, 1, 0, 1}));
}

}  // namespace
}  // namespace firebrick
