#include "rafter/engine/stop_strings.h"

#include <gtest/gtest.h>

#include "rafter/base/random.h"
#include "tests/support/errors.h"

namespace rafter {
namespace {

// What comes out of a text fed in pieces that end at `cuts`.
std::string shown(const std::vector<std::string>& stops, std::string_view text, const std::vector<size_t>& cuts) {
  StopStrings stream(stops);
  std::string out;
  size_t start = 0;
  for (const size_t cut : cuts) {
    out += stream.push(text.substr(start, cut - start));
    start = cut;
  }
  out += stream.push(text.substr(start));
  return out + stream.finish();
}

// By the definition: the text before the stop string whose end comes first, the longest where several end there.
std::string expected(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 0; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(StopStrings, WithoutAnyAllTextPassesAtOnce) {
  StopStrings stream({});
  EXPECT_EQ(stream.push("a"), "a");
  EXPECT_EQ(stream.push("bc"), "bc");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_FALSE(stream.matched());
}

TEST(StopStrings, HoldsBackOnlyWhatMayBecomeAStop) {
  StopStrings stream({"\n\nUser:"});
  EXPECT_EQ(stream.push("one\n"), "one");
  EXPECT_EQ(stream.push("\n"), "");
  EXPECT_EQ(stream.push("\n"), "\n");  // three line ends: the first cannot start it any more
  EXPECT_EQ(stream.push("Us"), "");
  EXPECT_EQ(stream.push("ual"), "\n\nUsual");
  EXPECT_EQ(stream.push(" end\n\nUser"), " end");
  EXPECT_EQ(stream.finish(), "\n\nUser");
}

TEST(StopStrings, EndsTheTextAcrossPieces) {
  StopStrings stream({"STOP"});
  EXPECT_EQ(stream.push("go S"), "go ");
  EXPECT_EQ(stream.push("TO"), "");
  EXPECT_EQ(stream.push("P and more"), "");
  EXPECT_TRUE(stream.matched());
  EXPECT_EQ(stream.match(), "STOP");
  EXPECT_EQ(stream.push("never"), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(StopStrings, TheFirstToBeCompleteWins) {
  EXPECT_EQ(shown({"abcd", "bc"}, "xabcd", {}), "xa");
  EXPECT_EQ(shown({"bc", "abc"}, "xabcd", {}), "x");
  EXPECT_EQ(shown({"aab"}, "aaab", {1, 2, 3}), "a");
}

TEST(StopStrings, AnEmptyOneIsRefused) {
  test::expect_input_error([] { StopStrings stream({"a", ""}); }, {"--stop"});
}

TEST(StopStrings, WhatComesOutDoesNotDependOnThePieces) {
  Random random(3);
  const auto word = [&](uint32_t longest) {
    std::string text;
    for (uint32_t i = 1 + random.below(longest); i > 0; --i) text += static_cast<char>('a' + random.below(2));
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops;
    for (uint32_t i = random.below(4); i > 0; --i) stops.push_back(word(5));
    const std::string text = word(24);
    std::vector<size_t> cuts;
    for (size_t i = 0; i < text.size(); ++i) {
      if (random.below(3) == 0) cuts.push_back(i);
    }
    ASSERT_EQ(shown(stops, text, cuts), expected(stops, text)) << text;
  }
}

}  // namespace
}  // namespace rafter
