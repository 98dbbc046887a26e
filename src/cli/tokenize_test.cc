#include "cli/tokenize.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace firebrick {
namespace {

constexpr const char* kModel = FIREBRICK_SOURCE_DIR "/src/text/testdata/llama3.tokenizer.json";

std::string RunTokenize(TokenizeOptions options, const std::string& input) {
  options.model = kModel;
  std::istringstream in(input);
  std::ostringstream out;
  const Status status = TokenizeCommand(options, in, out);
  return status.ok() ? out.str() : status.ToString();
}

TEST(TokenizeCommand, GoesThereAndBack) {
  const std::string ids = RunTokenize({}, "Hello \u4f60 <|im_end|>\n");
  EXPECT_EQ(RunTokenize({.model = {}, .decode = true}, ids), "Hello \u4f60 <|im_end|>\n");
  EXPECT_EQ(RunTokenize({.model = {}, .decode = true, .no_special = true}, ids), "Hello \u4f60 \n");
}

TEST(TokenizeCommand, LinesAreJson) {
  const std::string lines = RunTokenize({.model = {}, .jsonl = true}, "\"a\\nb\"\n\"\"\n\"<s>\"\n");
  EXPECT_EQ(lines.substr(lines.find('\n')), "\n[]\n[0]\n");
  EXPECT_EQ(RunTokenize({.model = {}, .jsonl = true, .decode = true}, lines), "\"a\\nb\"\n\"\"\n\"<s>\"\n");
}

TEST(TokenizeCommand, FlagsSayWhatSpecialTokensMean) {
  const std::string plain = RunTokenize({.model = {}, .jsonl = true}, "\"x<s>\"\n");
  const std::string text = RunTokenize({.model = {}, .jsonl = true, .no_special = true}, "\"x<s>\"\n");
  EXPECT_NE(plain, text);
  EXPECT_EQ(text.find(",0]"), std::string::npos);
  EXPECT_EQ(RunTokenize({.model = {}, .jsonl = true, .add_special = true}, "\"\"\n"), "[0]\n");
}

TEST(TokenizeCommand, ErrorsNameTheLine) {
  EXPECT_NE(RunTokenize({.model = {}, .jsonl = true}, "\"a\"\n5\n").find("line 2"), std::string::npos);
  EXPECT_NE(RunTokenize({.model = {}, .jsonl = true, .decode = true}, "[99999999]\n").find("99999999"),
            std::string::npos);
  EXPECT_NE(RunTokenize({.model = {}, .decode = true}, "1 2x").find("2x"), std::string::npos);
}

}  // namespace
}  // namespace firebrick
