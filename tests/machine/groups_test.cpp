// Two groups where there are two, and no clear ones where there is one.
#include "rafter/machine/groups.h"

#include <gtest/gtest.h>

#include <vector>

#include "rafter/base/random.h"

namespace rafter {
namespace {

std::vector<double> around(double centre, double sigma, int count, Random& random) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(centre + sigma * random.normal());
  return values;
}

TEST(Groups, NearAndFarAreToldApart) {
  Random random(1);
  std::vector<double> values = around(260, 15, 70, random);
  const std::vector<double> far = around(440, 20, 58, random);
  values.insert(values.end(), far.begin(), far.end());
  const TwoGroups groups = split_in_two(values);
  EXPECT_NEAR(groups.low, 260, 6);
  EXPECT_NEAR(groups.high, 440, 9);
  EXPECT_NEAR(groups.low_share, 70.0 / 128, 0.01);
  EXPECT_TRUE(groups.clear()) << groups.gap;
}

TEST(Groups, OneGroupIsNoClearTwo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const TwoGroups groups = split_in_two(around(260, 15, 128, random));
    EXPECT_FALSE(groups.clear()) << groups.gap;
  }
}

TEST(Groups, EqualValuesHaveNoGap) {
  const TwoGroups groups = split_in_two(std::vector<double>(10, 5.0));
  EXPECT_EQ(groups.low, 5);
  EXPECT_EQ(groups.high, 5);
  EXPECT_EQ(groups.gap, 0);
}

TEST(Groups, GroupsWithoutSpreadAreClear) { EXPECT_TRUE(split_in_two(std::vector<double>{1, 1, 2, 2, 2}).clear()); }

TEST(Groups, TooFewValuesSayNothing) { EXPECT_EQ(split_in_two(std::vector<double>{1, 9, 9}).high, 0); }

}  // namespace
}  // namespace rafter
