// What repeats is found at every level, and only where it does.
#include "rafter/measure/recording/period.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

std::vector<size_t> lengths(const std::vector<uint32_t>& symbols) {
  std::vector<size_t> found;
  for (const Period& period : periods_of(symbols)) found.push_back(period.length);
  return found;
}

std::vector<uint32_t> repeat(const std::vector<uint32_t>& unit, int times, std::vector<uint32_t> after = {}) {
  while (times-- > 0) after.insert(after.end(), unit.begin(), unit.end());
  return after;
}

TEST(Periods, OneSymbolIsAPeriodAndItsMultiplesAreNot) { EXPECT_EQ(lengths(repeat({5}, 40)), (std::vector<size_t>{1})); }

TEST(Periods, LayersWithinStepsAreBothFound) {
  std::vector<uint32_t> step = repeat({1, 2, 3, 4}, 28, {100});
  step.push_back(101);
  EXPECT_EQ(lengths(repeat(step, 12)), (std::vector<size_t>{4, 114}));
}

TEST(Periods, TwoRepeatsAreNone) {
  EXPECT_TRUE(lengths({1, 2, 3, 4, 1, 2, 3, 4}).empty());
  EXPECT_TRUE(lengths({}).empty());
  EXPECT_TRUE(lengths({1}).empty());
}

TEST(Periods, CoverageIsTheShareOfTheRuns) {
  std::vector<uint32_t> symbols;
  for (uint32_t i = 0; i < 60; ++i) symbols.push_back(1000 + i);
  const auto periods = periods_of(repeat({1, 2, 3}, 20, symbols));
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_DOUBLE_EQ(periods[0].coverage, 0.5);
  EXPECT_EQ(periods[0].first, 60u);
}

TEST(Periods, OccurrencesDoNotOverlap) {
  const std::vector<uint32_t> symbols = {9, 1, 1, 1, 1, 1, 9, 1, 1};
  EXPECT_EQ(occurrences(symbols, 1, 2), (std::vector<size_t>{1, 3, 7}));
  EXPECT_TRUE(occurrences(symbols, 0, 0).empty());
}

}  // namespace
}  // namespace rafter
