#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/queue.h"
#include "base/status.h"
#include "base/utf8.h"

namespace firebrick {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("{} is odd", value);
  return value / 2;
}

Result<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(Status, CarriesCodeAndMessage) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().ToString(), "invalid_argument: 3 is odd");
  EXPECT_EQ(Quarter(6).status().WithContext("x").message(), "x: 3 is odd");
}

TEST(Checksum, Sha256OfKnownText) {
  EXPECT_EQ(ToHex(Sha256Of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_TRUE(IsValidUtf8("aé漢😀"));
  EXPECT_EQ(FindInvalidUtf8("ab\xC0\x80"), 2u);         // overlong
  EXPECT_EQ(FindInvalidUtf8("\xED\xA0\x80"), 0u);       // surrogate
  EXPECT_EQ(FindInvalidUtf8("a\xF4\x90\x80\x80"), 1u);  // above U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("a\xE6\xBC"), 1u);          // cut
  EXPECT_EQ(ScanUtf8("\xE6\xBC").step, Utf8Step::kIncomplete);
  EXPECT_EQ(ScanUtf8("\xE6\xBCx").step, Utf8Step::kInvalid);
  EXPECT_EQ(ScanUtf8("\xE6\xBCx").length, 2u);
}

TEST(Json, EscapesAndBounds) {
  std::string out;
  AppendJsonString("a\"\n\x01é", &out);
  EXPECT_EQ(out, "\"a\\\"\\n\\u0001é\"");
  EXPECT_FALSE(ParseJson(std::string(1000, '[')).ok());
  EXPECT_EQ(ParseJson("{\"b\":1,\"a\":2}")->dump(), "{\"b\":1,\"a\":2}");
}

TEST(BoundedQueue, RefusesWhenFullAndDrainsAfterClose) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.TryPush(2));
  EXPECT_FALSE(queue.TryPush(3));
  queue.Close();
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(ReadFile, ReadsWhatProcHolds) {
  const Result<std::string> text = ReadFile("/proc/self/status", 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_TRUE(text->starts_with("Name:"));
  EXPECT_EQ(ReadFile("/proc/self/status", 16).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace firebrick
