#include "server/openai/answer.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "server/openai/answer_json.h"
#include "server/openai/prompt.h"

namespace firebrick {
namespace {

std::vector<Json> Chunks(const AnswerFormat& format, const AnswerPiece& piece, bool first,
                         bool logprobs = false) {
  std::vector<std::string> choices;
  format.AppendChunkChoices(piece, first, logprobs, &choices);
  std::vector<Json> parsed;
  for (const std::string& choice : choices) parsed.push_back(Json::parse(choice));
  return parsed;
}

TEST(ChatFormat, RoleFirstThenTextThenAnEmptyDelta) {
  const auto format = MakeChatFormat();
  AnswerPiece piece;
  piece.choice = 2;
  piece.text = "a \"quote\"\n";
  piece.finish_reason = "stop";
  piece.stop_reason = std::string("END");
  const auto chunks = Chunks(*format, piece, true);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].dump(),
            R"({"index":2,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null})");
  EXPECT_EQ(chunks[1]["delta"].dump(), R"({"content":"a \"quote\"\n"})");
  EXPECT_TRUE(chunks[1]["finish_reason"].is_null());
  EXPECT_EQ(chunks[2].dump(),
            R"({"index":2,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":"END"})");
}

TEST(ChatFormat, HeldBackTextMakesNoChunk) {
  EXPECT_TRUE(Chunks(*MakeChatFormat(), AnswerPiece{}, false).empty());
  EXPECT_TRUE(Chunks(*MakeCompletionFormat(), AnswerPiece{}, true).empty());
}

AnswerPiece WithLogprobs() {
  AnswerPiece piece;
  piece.text = "é";
  piece.logprobs.push_back(
      {"\xC3\xA9", -0.5F, {{"\xC3\xA9", -0.5F}, {"\xF0\x9F", -std::numeric_limits<float>::infinity()}}, 7});
  piece.finish_reason = "length";
  return piece;
}

TEST(ChatFormat, Logprobs) {
  std::string out;
  MakeChatFormat()->AppendWholeChoice(WithLogprobs(), true, &out);
  const Json choice = Json::parse(out);
  EXPECT_EQ(choice["message"].dump(), R"({"role":"assistant","content":"é","refusal":null})");
  const Json& entry = choice["logprobs"]["content"][0];
  EXPECT_EQ(entry["token"], "é");
  EXPECT_EQ(entry["bytes"].dump(), "[195,169]");
  EXPECT_EQ(entry["logprob"], -0.5);
  EXPECT_EQ(entry["top_logprobs"][1]["token"], "\uFFFD");
  EXPECT_EQ(entry["top_logprobs"][1]["bytes"].dump(), "[240,159]");
  EXPECT_EQ(entry["top_logprobs"][1]["logprob"], -9999.0);
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_TRUE(choice["stop_reason"].is_null());
}

TEST(CompletionFormat, Logprobs) {
  AnswerPiece piece = WithLogprobs();
  piece.logprobs.insert(piece.logprobs.begin(), {"\xF0\x9F", std::nullopt, {}, 0});
  piece.stop_reason = 42;
  std::string out;
  MakeCompletionFormat()->AppendWholeChoice(piece, true, &out);
  const Json choice = Json::parse(out);
  EXPECT_EQ(choice["text"], "é");
  EXPECT_EQ(choice["logprobs"].dump(),
            R"({"tokens":["bytes:\\xf0\\x9f","é"],"token_logprobs":[null,-0.5],)"
            R"("top_logprobs":[null,{"é":-0.5,"bytes:\\xf0\\x9f":-9999.0}],"text_offset":[0,7]})");
  EXPECT_EQ(choice["stop_reason"], 42);
}

TEST(AnswerPiece, PartsMakeTheWhole) {
  AnswerPiece whole;
  AnswerPiece first;
  first.text = "ab";
  first.logprobs.resize(1);
  AnswerPiece last = WithLogprobs();
  whole.Append(std::move(first));
  EXPECT_EQ(whole.finish_reason, "");
  whole.Append(std::move(last));
  EXPECT_EQ(whole.text, "abé");
  EXPECT_EQ(whole.logprobs.size(), 2U);
  EXPECT_EQ(whole.finish_reason, "length");
}

TEST(AnswerJson, Usage) {
  std::string out;
  AppendUsage({.prompt_tokens = 5, .completion_tokens = 3, .cached_tokens = 2}, &out);
  EXPECT_EQ(
      out,
      R"({"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2}})");
}

TEST(AnswerJson, ReplaceInvalidUtf8) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xFF"
                               "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(ReplaceInvalidUtf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("héllo"), "héllo");
}

TEST(Prompt, CutAfterFinalMessage) {
  const auto prompt = [] {
    RenderedPrompt made;
    made.spans = {
        {"<user>", true}, {"hi", false}, {"</s><assistant>", true}, {"Sure: 1", false}, {"</s>\n", true}};
    return made;
  };
  RenderedPrompt cut = prompt();
  ASSERT_TRUE(CutAfterFinalMessage("Sure: 1", &cut));
  EXPECT_EQ(cut.Text(), "<user>hi</s><assistant>Sure: 1");
  ASSERT_EQ(cut.spans.size(), 4U);
  EXPECT_FALSE(cut.spans.back().allow_special);
  RenderedPrompt blank = prompt();
  ASSERT_TRUE(CutAfterFinalMessage("  Sure: 1  ", &blank));  // the template trimmed it
  EXPECT_EQ(blank.Text(), "<user>hi</s><assistant>Sure: 1");
  RenderedPrompt absent = prompt();
  EXPECT_FALSE(CutAfterFinalMessage("other", &absent));
  EXPECT_FALSE(CutAfterFinalMessage("  ", &absent));
}

}  // namespace
}  // namespace firebrick
