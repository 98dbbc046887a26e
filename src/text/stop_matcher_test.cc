#include "text/stop_matcher.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace firebrick {
namespace {

StopMatcher Make(const std::vector<std::string>& stops, bool include = false) {
  return StopMatcher::Create(stops, include).value();
}

TEST(StopMatcher, HoldsBackOnlyTrueBeginnings) {
  StopMatcher matcher = Make({"</end>", "STOP"});
  EXPECT_EQ(matcher.Push("abc<").text, "abc");
  EXPECT_EQ(matcher.Push("/en").text, "");
  EXPECT_EQ(matcher.Push("x").text, "</enx");
  EXPECT_EQ(matcher.Push("S<S").text, "S<");
  EXPECT_EQ(matcher.Flush(), "S");
}

TEST(StopMatcher, FindsAStopOverPieces) {
  StopMatcher matcher = Make({"zzz", "</end>"});
  EXPECT_EQ(matcher.Push("text </").text, "text ");
  const auto output = matcher.Push("end> more");
  EXPECT_EQ(output.text, "");
  EXPECT_EQ(output.matched, std::optional<size_t>(1));
  EXPECT_EQ(matcher.Push("after").text, "");
  EXPECT_EQ(matcher.Flush(), "");
}

TEST(StopMatcher, IncludesTheStopWhereAsked) {
  StopMatcher matcher = Make({"END"}, true);
  EXPECT_EQ(matcher.Push("aE").text, "a");
  EXPECT_EQ(matcher.Push("NDb").text, "END");
}

TEST(StopMatcher, TheFirstToBeCompleteWinsThenTheLongest) {
  StopMatcher first = Make({"abcd", "bc"});
  auto output = first.Push("xabcd");
  EXPECT_EQ(output.matched, std::optional<size_t>(1));
  EXPECT_EQ(output.text, "xa");
  StopMatcher longest = Make({"bc", "abc"});
  output = longest.Push("xabc");
  EXPECT_EQ(output.matched, std::optional<size_t>(1));
  EXPECT_EQ(output.text, "x");
}

TEST(StopMatcher, RefusesWhatItCannotHold) {
  EXPECT_EQ(StopMatcher::Create({""}, false).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(StopMatcher::Create(std::vector<std::string>(65, "a"), false).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(StopMatcher::Create({std::string(4097, 'a')}, false).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(StopMatcher, NoStopsPassEverything) {
  StopMatcher matcher = Make({});
  EXPECT_EQ(matcher.Push("anything").text, "anything");
  EXPECT_EQ(matcher.Flush(), "");
}

// Whatever the pieces, the text is what a search over the whole of it gives.
TEST(StopMatcher, PiecesMakeNoDifference) {
  std::mt19937 random(3);
  const auto word = [&](size_t max) {
    std::string text;
    for (size_t i = 0; i < 1 + random() % max; ++i) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::vector<std::string> stops = {word(6), word(6), word(3)};
    const std::string text = word(40);
    size_t end = std::string::npos;
    size_t stop_bytes = 0;
    for (const std::string& stop : stops) {
      const size_t at = text.find(stop);
      if (at == std::string::npos) continue;
      const size_t stop_end = at + stop.size();
      if (end == std::string::npos || stop_end < end || (stop_end == end && stop.size() > stop_bytes)) {
        end = stop_end;
        stop_bytes = stop.size();
      }
    }
    StopMatcher matcher = Make(stops);
    std::string out;
    bool matched = false;
    for (size_t pos = 0; pos < text.size();) {
      const size_t length = 1 + random() % 5;
      const auto output = matcher.Push(std::string_view(text).substr(pos, length));
      out += output.text;
      matched = matched || output.matched.has_value();
      pos += length;
    }
    out += matcher.Flush();
    EXPECT_EQ(matched, end != std::string::npos);
    EXPECT_EQ(out, matched ? text.substr(0, end - stop_bytes) : text);
  }
}

}  // namespace
}  // namespace firebrick
