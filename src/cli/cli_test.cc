#include <sstream>

#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/progress.h"

namespace firebrick {
namespace {

struct Targets {
  std::string model;
  std::optional<std::string> prompt;
  bool json = false;
  Setting<int32_t> threads{0};
  Setting<int32_t> seqs{64};
  Setting<std::string> isa{"auto"};
  Setting<uint64_t> memory{0};
  std::optional<double> temperature;
  Setting<bool> cache{true};
  std::vector<int32_t> ids;
  std::vector<std::string> beside;
};

std::unique_ptr<FlagSet> MakeFlags(Targets* targets) {
  auto flags = std::make_unique<FlagSet>("run", "Chat with a model");
  flags->Positional("MODEL", "A file, a folder or a hub name", &targets->model);
  flags->Text("-p,--prompt", "TEXT", "Answer once", &targets->prompt);
  flags->Switch("--json", "Print one JSON object", &targets->json);
  flags->Integer("--threads", "N", "Threads", &targets->threads, 0, 1024);
  flags->Integer("--max-num-seqs", "N", "Sequences at once", &targets->seqs, 1);
  flags->Choice("--isa", {"auto", "ref", "avx2"}, "Kernels", &targets->isa);
  flags->Bytes("--kv-cache-memory", "Memory", &targets->memory);
  flags->Real("--temperature", "T", "Randomness", &targets->temperature, 0, 100);
  flags->IntegerList("--ids", "LIST", "Token ids", &targets->ids);
  flags->TextList("--beside", "FILE", "Other prompts", &targets->beside);
  flags->Switch("--no-cache", "Compute all", &targets->cache, false);
  flags->Example("firebrick run -p hello");
  return flags;
}

Status ParseInto(Targets* targets, std::vector<std::string> arguments) {
  return MakeFlags(targets)->Parse(arguments);
}

TEST(FlagSet, ReadsEveryKindOfValueAndItsSource) {
  Targets t;
  const Status status = ParseInto(
      &t, {"a.gguf", "-p", "-5 degrees", "--json", "--threads=2", "--isa", "ref", "--kv-cache-memory", "2MiB",
           "--temperature", "0", "--ids", "1,2", "--beside", "x", "--beside", "y", "--no-cache"});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(t.model, "a.gguf");
  EXPECT_EQ(t.prompt, "-5 degrees");
  EXPECT_TRUE(t.json);
  EXPECT_EQ(t.threads.value, 2);
  EXPECT_EQ(t.threads.source, SettingSource::kFlag);
  EXPECT_EQ(t.seqs.source, SettingSource::kDefault);
  EXPECT_EQ(t.isa.value, "ref");
  EXPECT_EQ(t.memory.value, 2U << 20U);
  EXPECT_EQ(t.temperature, 0.0);
  EXPECT_FALSE(t.cache.value);
  EXPECT_EQ(t.ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(t.beside, (std::vector<std::string>{"x", "y"}));
}

TEST(FlagSet, NamesTheNearestFlag) {
  Targets t;
  EXPECT_NE(ParseInto(&t, {"--treads", "2"}).message().find("did you mean '--threads'?"), std::string::npos);
  EXPECT_NE(ParseInto(&t, {"-json"}).message().find("did you mean '--json'?"), std::string::npos);
  EXPECT_NE(ParseInto(&t, {"--max-num=3"}).message().find("'--max-num-seqs'"), std::string::npos);
  EXPECT_NE(ParseInto(&t, {"a", "--zzzzzzzz"}).message().find("unknown flag '--zzzzzzzz'; see"),
            std::string::npos);
  EXPECT_NE(ParseInto(&t, {"a", "b"}).message().find("surplus argument 'b'"), std::string::npos);
}

TEST(FlagSet, SaysWhichValueIsWrong) {
  Targets t;
  for (const auto& [arguments, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--threads", "two"}, "--threads: 'two' is not a whole number"},
           {{"--threads", "5000"}, "--threads: 5000 is out of range; give 0 to 1024"},
           {{"--isa", "sse"}, "--isa: 'sse' is not one of auto, ref, avx2"},
           {{"--kv-cache-memory", "many"}, "--kv-cache-memory: 'many' is not a size"},
           {{"--temperature", "hot"}, "--temperature: 'hot' is not a number"},
           {{"--threads"}, "--threads"}}) {
    const Status status = ParseInto(&t, arguments);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
}

TEST(FlagSet, HelpHasDefaultsAndFitsTheScreen) {
  Targets t;
  const auto flags = MakeFlags(&t);
  std::istringstream lines(flags->Help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_NE(flags->Help().find("Sequences at once [64]"), std::string::npos);
  EXPECT_NE(flags->Help().find("Usage: firebrick run [MODEL] [flags]"), std::string::npos);
  ASSERT_TRUE(flags->Parse(std::vector<std::string>{"--help", "--unknown"}).ok());
  EXPECT_TRUE(flags->help_requested());
}

TEST(Commands, EachHelpFitsAScreenAndShowsAnExample) {
  for (const Command& command : Commands()) {
    FlagSet flags{std::string(command.name), std::string(command.summary)};
    const CommandAction action = command.declare(&flags);
    ASSERT_TRUE(action);
    std::istringstream lines(flags.Help());
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_LE(count, 30U) << command.name;
    const size_t example = flags.Help().find("\nExample:\n");
    ASSERT_NE(example, std::string::npos) << command.name;
    EXPECT_NE(flags.Help().find("firebrick " + std::string(command.name), example), std::string::npos)
        << command.name;
  }
}

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("serve", "serve"), 0U);
  EXPECT_EQ(EditDistance("sevre", "serve"), 1U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
}

TEST(Progress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(FormatProgress("x", 512 << 10, 1 << 20, 1024),
            "x  [############............]  50 %  512.0 KiB of 1.00 MiB  1.00 KiB/s, 8 min 32 s left");
  EXPECT_EQ(FormatProgress("x", 2048, 0, 1024), "x  2.00 KiB  1.00 KiB/s");
}

}  // namespace
}  // namespace firebrick
