#include "rafter/base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rafter {
namespace {

TEST(Statistics, OfKnownSamples) {
  const std::vector<double> samples = {4, 1, 3, 2, 10};
  const Statistics s = summarise(samples);
  EXPECT_EQ(s.samples, 5);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.iqr, 2);  // quartiles 2 and 4
  EXPECT_DOUBLE_EQ(s.mean, 4);
  EXPECT_DOUBLE_EQ(s.sigma * s.sigma, 12.5);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 10);
}

TEST(Statistics, QuartilesLieBetweenSamples) {
  const Statistics s = summarise(std::vector<double>{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.iqr, 1.5);  // 1.75 and 3.25
}

TEST(Statistics, OfOneSampleAndOfNone) {
  const Statistics one = summarise(std::vector<double>{7});
  EXPECT_EQ(one.median, 7);
  EXPECT_EQ(one.iqr, 0);
  EXPECT_EQ(one.sigma, 0);
  const Statistics none = summarise({});
  EXPECT_EQ(none.samples, 0);
  EXPECT_EQ(none.median, 0);
}

TEST(Statistics, TheMiddleHalfLeavesOutBothEnds) {
  std::vector<size_t> kept = middle_half(std::vector<double>{9, 1, 5, 4, 100, 6, 0, 7});
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(kept, (std::vector<size_t>{2, 3, 5, 7}));
  EXPECT_EQ(middle_half(std::vector<double>{3, 1, 2}).size(), 3u);
}

}  // namespace
}  // namespace rafter
