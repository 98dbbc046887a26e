#include "text/gguf_vocabulary.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "text/tokenizer.h"

namespace firebrick {
namespace {

using Ids = std::vector<int32_t>;

// "▁" and letters, the merges by score: "ab" before "bc", and one token of type control.
GgufVocabulary SmallSentencePiece() {
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {"<unk>", "<s>", "</s>"};
  vocabulary.token_types = {2, 3, 3};
  vocabulary.scores = {0, 0, 0};
  const auto add = [&](const std::string& text, double score, int64_t type) {
    vocabulary.tokens.push_back(text);
    vocabulary.scores.push_back(score);
    vocabulary.token_types.push_back(type);
  };
  for (const char* text : {"\u2581", "a", "b", "c"}) add(text, -100, 1);
  add("ab", -1, 1);
  add("bc", -2, 1);
  add("\u2581ab", -3, 1);
  add("<0xC3>", 0, 6);
  add("<0xA9>", 0, 6);
  vocabulary.bos_id = 1;
  vocabulary.eos_id = 2;
  vocabulary.unk_id = 0;
  return vocabulary;
}

Tokenizer Make(const GgufVocabulary& vocabulary) {
  return Tokenizer::FromSpec(SpecOfGguf(vocabulary).value()).value();
}
Ids Encode(const Tokenizer& tokenizer, std::string_view text, bool add_special = false) {
  return tokenizer.Encode(text, SpecialTokens::kRecognise, add_special).value();
}

TEST(GgufVocabulary, SentencePieceMergesByScore) {
  const Tokenizer tokenizer = Make(SmallSentencePiece());
  EXPECT_EQ(Encode(tokenizer, "abc"), (Ids{9, 6}));          // ▁ab c
  EXPECT_EQ(Encode(tokenizer, "bc"), (Ids{3, 8}));           // ▁ bc
  EXPECT_EQ(Encode(tokenizer, "\u00e9"), (Ids{3, 10, 11}));  // bytes
  EXPECT_EQ(Encode(tokenizer, "xy"), (Ids{3, 0}));           // unknown characters are one unknown token
  EXPECT_EQ(Encode(tokenizer, "ab", true), (Ids{1, 9}));     // BOS is the default of this model
  EXPECT_EQ(Encode(tokenizer, "</s>ab"), (Ids{2, 9}));
  EXPECT_EQ(tokenizer.Decode(Ids{1, 9, 3, 10, 11}, true), "ab \u00e9");
}

TEST(GgufVocabulary, EqualScoresMergeFromTheLeft) {
  GgufVocabulary vocabulary = SmallSentencePiece();
  vocabulary.scores[7] = vocabulary.scores[8] = -1;
  vocabulary.add_space_prefix = false;
  EXPECT_EQ(Encode(Make(vocabulary), "abc"), (Ids{7, 6}));
}

TEST(GgufVocabulary, ControlTextNeverComesFromMerging) {
  GgufVocabulary vocabulary = SmallSentencePiece();
  vocabulary.tokens[2] = "bc";  // a control token with the text of a word
  vocabulary.tokens[8] = "cb";
  vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = Make(vocabulary);
  EXPECT_EQ(tokenizer.Encode("bc", SpecialTokens::kUserText, false).value(), (Ids{5, 6}));
}

TEST(GgufVocabulary, RunsOfSpacesAreUnitsOfNormalisedText) {
  GgufVocabulary vocabulary = SmallSentencePiece();
  vocabulary.tokens.emplace_back("  ");
  vocabulary.scores.push_back(-1000);
  vocabulary.token_types.push_back(4);
  vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = Make(vocabulary);
  EXPECT_EQ(Encode(tokenizer, "a  b"), (Ids{4, 12, 5}));
  EXPECT_EQ(Encode(tokenizer, "a\u2581 b"), (Ids{4, 12, 5}));
}

TEST(GgufVocabulary, EndsOfTurnAreFound) {
  GgufVocabulary vocabulary = SmallSentencePiece();
  vocabulary.tokens.emplace_back("<end_of_turn>");
  vocabulary.scores.push_back(0);
  vocabulary.token_types.push_back(3);
  const Tokenizer tokenizer = Make(vocabulary);
  EXPECT_EQ(Ids(tokenizer.end_ids().begin(), tokenizer.end_ids().end()), (Ids{2, 12}));
  vocabulary.eot_id = 1;
  const Tokenizer named = Make(vocabulary);
  EXPECT_EQ(Ids(named.end_ids().begin(), named.end_ids().end()), (Ids{2, 1}));
}

TEST(GgufVocabulary, FlagsOfTheFileWin) {
  GgufVocabulary vocabulary = SmallSentencePiece();
  vocabulary.add_bos = false;
  vocabulary.add_eos = true;
  EXPECT_EQ(Encode(Make(vocabulary), "ab", true), (Ids{9, 2}));
}

GgufVocabulary SmallByteLevel() {
  GgufVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  vocabulary.tokens = {"a", "b", "\u0120", "ab", "\u0120ab", "<|end|>"};
  vocabulary.token_types = {1, 1, 1, 1, 1, 3};
  vocabulary.merges = {"a b", "\u0120 ab"};
  return vocabulary;
}

TEST(GgufVocabulary, ByteLevelMergesByRank) {
  const Tokenizer tokenizer = Make(SmallByteLevel());
  EXPECT_EQ(Encode(tokenizer, "ab ab<|end|>ba"), (Ids{3, 4, 5, 1, 0}));
  EXPECT_EQ(tokenizer.Decode(Ids{3, 4, 5}, true), "ab ab");
}

TEST(GgufVocabulary, UnknownNamesAreRefusedByName) {
  GgufVocabulary vocabulary = SmallByteLevel();
  vocabulary.pre = "no-such-pre";
  Status status = SpecOfGguf(vocabulary).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("no-such-pre"), std::string::npos);
  vocabulary.model = "t5";
  status = SpecOfGguf(vocabulary).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("t5"), std::string::npos);
}

TEST(GgufVocabulary, LyingMetadataIsRefused) {
  const auto code = [](const auto& spoil, GgufVocabulary vocabulary) {
    spoil(&vocabulary);
    return SpecOfGguf(vocabulary).status().code();
  };
  const StatusCode bad = StatusCode::kInvalidArgument;
  EXPECT_EQ(code([](auto* v) { v->tokens.clear(); }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->token_types.pop_back(); }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->merges[0] = "ab"; }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->merges[0] = "a c"; }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->tokens[0] = "\xff"; }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->eos_id = 6; }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->bos_id = -1; }, SmallByteLevel()), bad);
  EXPECT_EQ(code([](auto* v) { v->scores.pop_back(); }, SmallSentencePiece()), bad);
  EXPECT_EQ(
      code([](auto* v) { v->scores[4] = std::numeric_limits<double>::quiet_NaN(); }, SmallSentencePiece()),
      bad);
}

TEST(GgufVocabulary, EveryPreTokenizerCompiles) {
  for (const char* name : {"llama-bpe", "llama3", "smaug-bpe", "qwen2", "qwen35", "gpt-4o", "llama4",
                           "tekken", "gpt-2", "smollm", "starcoder", "command-r", "deepseek-llm",
                           "deepseek-coder", "deepseek-v3", "falcon", "default", "glm4", "chatglm-bpe"}) {
    GgufVocabulary vocabulary = SmallByteLevel();
    vocabulary.pre = name;
    const auto spec = SpecOfGguf(vocabulary);
    EXPECT_TRUE(spec.ok()) << name << ": " << spec.status().ToString();
  }
}

}  // namespace
}  // namespace firebrick
