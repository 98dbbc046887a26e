#include <gtest/gtest.h>

#include "config/options.h"
#include "config/parse.h"

namespace firebrick {
namespace {

TEST(ParseInteger, TakesTheWholeTextAndTheRange) {
  EXPECT_EQ(ParseInteger("-3", -5, 5).value(), -3);
  EXPECT_FALSE(ParseInteger("6", -5, 5).ok());
  EXPECT_FALSE(ParseInteger("", -5, 5).ok());
  EXPECT_FALSE(ParseInteger("3 ", -5, 5).ok());
  EXPECT_FALSE(ParseInteger("99999999999999999999", 0, INT64_MAX).ok());
  EXPECT_EQ(ParseUnsigned("18446744073709551615").value(), UINT64_MAX);
  EXPECT_FALSE(ParseUnsigned("-1").ok());
}

TEST(ParseReal, RefusesInfinityAndText) {
  EXPECT_EQ(ParseReal("0.25", 0, 1).value(), 0.25);
  EXPECT_FALSE(ParseReal("1.25", 0, 1).ok());
  EXPECT_FALSE(ParseReal("inf", 0, 1).ok());
  EXPECT_FALSE(ParseReal("nan", 0, 1).ok());
  EXPECT_FALSE(ParseReal("0,5", 0, 1).ok());
}

TEST(ParseBytes, KnowsPowersOf1024) {
  EXPECT_EQ(ParseBytes("1048576").value(), 1048576U);
  EXPECT_EQ(ParseBytes("512MiB").value(), 512ULL << 20U);
  EXPECT_EQ(ParseBytes("4G").value(), 4ULL << 30U);
  EXPECT_EQ(ParseBytes("1.5k").value(), 1536U);
  for (const char* bad : {"", "G", "iB", "5iB", "-1G", "4 GiB", "1e30T", "4GB"}) {
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
  }
}

TEST(ParseIntegerList, NeedsANumberBetweenCommas) {
  EXPECT_EQ(ParseIntegerList("1,4,8", 1, 100).value(), (std::vector<int32_t>{1, 4, 8}));
  EXPECT_FALSE(ParseIntegerList("", 1, 100).ok());
  EXPECT_FALSE(ParseIntegerList("1,,8", 1, 100).ok());
  EXPECT_FALSE(ParseIntegerList("1,800", 1, 100).ok());
}

TEST(FormatBytes, IsShort) {
  EXPECT_EQ(FormatBytes(1000), "1000 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(24ULL << 30U), "24.0 GiB");
}

TEST(DescribeSettings, SaysWhereEachValueCameFrom) {
  ModelOptions model;
  model.threads = Setting<int32_t>(2);
  model.threads.source = SettingSource::kFlag;
  const std::string text = DescribeSettings(model, EngineOptions());
  EXPECT_NE(text.find("--threads 2 (flag)"), std::string::npos) << text;
  EXPECT_NE(text.find("--max-num-seqs 64 (default)"), std::string::npos) << text;
}

}  // namespace
}  // namespace firebrick
