#include "text/detokenizer.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace firebrick {
namespace {

Tokenizer Load(const std::string& name) {
  const std::string path = std::string(FIREBRICK_SOURCE_DIR "/src/text/testdata/") + name + ".tokenizer.json";
  return Tokenizer::FromJson(ReadFile(path, 1 << 20).value(), nullptr).value();
}

class DetokenizerTest : public testing::TestWithParam<std::string> {};

TEST_P(DetokenizerTest, StreamsWhatDecodeSays) {
  const Tokenizer tokenizer = Load(GetParam());
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int32_t> ids;
    const int32_t bound = round % 2 == 0 ? tokenizer.vocab_size() : 300;  // bytes lie at the start
    for (size_t i = 0; i < 1 + random() % 12; ++i)
      ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(bound)));
    const bool skip = round % 3 == 0;
    Detokenizer detokenizer(tokenizer, skip);
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string text = detokenizer.Push(id);
      EXPECT_TRUE(IsValidUtf8(text));
      streamed += text;
    }
    streamed += detokenizer.Flush();
    EXPECT_EQ(streamed, tokenizer.Decode(ids, skip));
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, DetokenizerTest,
                         testing::Values("llama3", "qwen", "llama2", "gemma", "metaspace"),
                         [](const auto& info) { return info.param; });

std::vector<int32_t> ByteIds(const Tokenizer& tokenizer, const std::vector<const char*>& texts) {
  std::vector<int32_t> ids;
  for (const char* text : texts) ids.push_back(tokenizer.FindToken(text).value());
  return ids;
}

TEST(Detokenizer, ByteLevelEmitsCharactersWhenTheyAreWhole) {
  const Tokenizer tokenizer = Load("llama3");
  Detokenizer detokenizer(tokenizer, false);
  const auto ids = ByteIds(tokenizer, {"\u00f0", "\u0141", "\u013a", "\u0122"});  // F0 9F 98 80: 😀
  EXPECT_EQ(detokenizer.Push(ids[0]), "");
  EXPECT_EQ(detokenizer.Push(ids[1]), "");
  EXPECT_EQ(detokenizer.Push(ids[2]), "");
  EXPECT_EQ(detokenizer.Push(ids[3]), "\U0001F600");
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(Detokenizer, ByteLevelReplacesHopelessBytesAtOnce) {
  const Tokenizer tokenizer = Load("llama3");
  Detokenizer detokenizer(tokenizer, false);
  const auto ids = ByteIds(tokenizer, {"\u00f0", "\u0141", "a", "\u0122", "\u00f0"});
  EXPECT_EQ(detokenizer.Push(ids[0]), "");
  EXPECT_EQ(detokenizer.Push(ids[1]), "");
  EXPECT_EQ(detokenizer.Push(ids[2]), "\ufffda");  // F0 9F will never be a character
  EXPECT_EQ(detokenizer.Push(ids[3]), "\ufffd");   // 80 begins none
  EXPECT_EQ(detokenizer.Push(ids[4]), "");
  EXPECT_EQ(detokenizer.Flush(), "\ufffd");
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(Detokenizer, ByteFallbackDecodesARunAsOne) {
  const Tokenizer tokenizer = Load("gemma");
  Detokenizer detokenizer(tokenizer, false);
  const auto ids = ByteIds(tokenizer, {"<0xC3>", "<0xA9>", "a", "<0xC3>", "<0xA9>", "<0xFF>", "a"});
  EXPECT_EQ(detokenizer.Push(ids[0]), "");
  EXPECT_EQ(detokenizer.Push(ids[1]), "");
  EXPECT_EQ(detokenizer.Push(ids[2]), "\u00e9a");
  for (size_t i = 3; i < 6; ++i) EXPECT_EQ(detokenizer.Push(ids[i]), "");
  EXPECT_EQ(detokenizer.Push(ids[6]),
            "\ufffd\ufffd\ufffda");  // the whole run is spoilt, as Hugging Face decodes it
}

TEST(Detokenizer, OnlyTheFirstSpaceOfTheSequenceGoes) {
  const Tokenizer tokenizer = Load("llama2");
  Detokenizer detokenizer(tokenizer, true);
  const int32_t space = tokenizer.FindToken("\u2581").value();
  EXPECT_EQ(detokenizer.Push(tokenizer.FindToken("<s>").value()), "");
  EXPECT_EQ(detokenizer.Push(space), "");
  EXPECT_EQ(detokenizer.Push(space), " ");
}

TEST(Detokenizer, IdsOutsideOfTheVocabularyAddNothing) {
  const Tokenizer tokenizer = Load("llama3");
  Detokenizer detokenizer(tokenizer, false);
  EXPECT_EQ(detokenizer.Push(-1), "");
  EXPECT_EQ(detokenizer.Push(1 << 30), "");
}

}  // namespace
}  // namespace firebrick
