#include "http/message.h"

#include <gtest/gtest.h>

namespace firebrick {
namespace {

TEST(HttpMessage, HeaderLookupIgnoresCase) {
  HttpRequest request;
  request.headers = {{"Content-Type", "a"}, {"X-Thing", "b"}, {"x-thing", "c"}};
  EXPECT_EQ(request.Header("x-tHING"), "b");
  EXPECT_EQ(request.Header("absent"), "");
}

TEST(HttpMessage, PercentDecode) {
  EXPECT_EQ(PercentDecode("a%20b+c", false), "a b+c");
  EXPECT_EQ(PercentDecode("a%20b+c", true), "a b c");
  EXPECT_EQ(PercentDecode("%", false), std::nullopt);
  EXPECT_EQ(PercentDecode("%1", false), std::nullopt);
  EXPECT_EQ(PercentDecode("%zz", false), std::nullopt);
  EXPECT_EQ(PercentDecode("a%00b", false), std::nullopt);
}

TEST(HttpMessage, Query) {
  const auto pairs = ParseQuery("a=1&&b=x%3Dy&c&=d");
  ASSERT_TRUE(pairs.has_value());
  const std::vector<std::pair<std::string, std::string>> expected{
      {"a", "1"}, {"b", "x=y"}, {"c", ""}, {"", "d"}};
  EXPECT_EQ(*pairs, expected);
  EXPECT_FALSE(ParseQuery("a=%g0").has_value());
  std::string many;
  for (int i = 0; i < 65; ++i) many += "a=1&";
  EXPECT_FALSE(ParseQuery(many).has_value());
}

TEST(HttpMessage, Target) {
  std::string path;
  std::string query;
  ASSERT_TRUE(SplitTarget("/v1/models?x=1#frag", &path, &query));
  EXPECT_EQ(path, "/v1/models");
  EXPECT_EQ(query, "x=1");
  ASSERT_TRUE(SplitTarget("http://host:80/a%2Fb", &path, &query));
  EXPECT_EQ(path, "/a/b");
  ASSERT_TRUE(SplitTarget("http://host", &path, &query));
  EXPECT_EQ(path, "/");
  EXPECT_FALSE(SplitTarget("*", &path, &query));
  EXPECT_FALSE(SplitTarget("", &path, &query));
  EXPECT_FALSE(SplitTarget("/%", &path, &query));
}

TEST(HttpMessage, RequestIds) {
  EXPECT_TRUE(IsSafeRequestId("abc-DEF_1.2:3"));
  EXPECT_FALSE(IsSafeRequestId(""));
  EXPECT_FALSE(IsSafeRequestId("a b"));
  EXPECT_FALSE(IsSafeRequestId("a\nb"));
  EXPECT_FALSE(IsSafeRequestId(std::string(129, 'a')));
  const std::string made = MakeRequestId();
  EXPECT_EQ(made.size(), 32U);
  EXPECT_TRUE(IsSafeRequestId(made));
  EXPECT_NE(made, MakeRequestId());
}

}  // namespace
}  // namespace firebrick
