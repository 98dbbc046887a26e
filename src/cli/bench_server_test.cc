#include "cli/bench_server.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/page_cache.h"

namespace firebrick {
namespace {

TEST(ProcTextTest, ResidentMemoryIsReadByName) {
  const auto memory = ParseProcStatus("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n");
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->peak_bytes, 2048U * 1024);
  EXPECT_EQ(memory->now_bytes, 1024U * 1024);
  EXPECT_FALSE(ParseProcStatus("Name:\tx\nState:\tZ (zombie)\n").ok());
}

TEST(ProcTextTest, AThreadsNameMayHoldBracketsAndSpaces) {
  const auto parsed =
      ParseTaskStat("12 (a (b) c) S 1 1 1 0 -1 4194368 5 6 7 8 250 50 0 0 20 0 9 0 11 22 33", 100);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->first, "a (b) c");
  EXPECT_DOUBLE_EQ(parsed->second, 3.0);
  EXPECT_FALSE(ParseTaskStat("12 no name", 100).has_value());
  EXPECT_FALSE(ParseTaskStat("12 (short) S 1 2", 100).has_value());
}

TEST(PageCacheTest, AFileThatWasReadIsCachedAndTimed) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("fb-page-cache-" + std::to_string(::getpid()))).string();
  std::ofstream(path) << std::string(1 << 20, 'x');
  ASSERT_TRUE(DropFromPageCache(path).ok());
  const auto seconds = TimeReading(path, /*direct=*/false);
  ASSERT_TRUE(seconds.ok());
  EXPECT_GT(*seconds, 0);
  const auto share = CachedShare(path);
  ASSERT_TRUE(share.ok());
  EXPECT_EQ(*share, 1);
  std::filesystem::remove(path);
  EXPECT_FALSE(CachedShare(path).ok());
  EXPECT_FALSE(TimeReading(path, /*direct=*/true).ok());
}

}  // namespace
}  // namespace firebrick
