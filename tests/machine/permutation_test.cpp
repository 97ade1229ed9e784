// Every count gives an order in which each element comes once.
#include "rafter/machine/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rafter {
namespace {

TEST(Permutation, HoldsEachElementOnce) {
  for (const uint64_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 31u, 1000u, 4096u, 65537u, 100003u}) {
    for (const uint64_t key : {0u, 1u, 77u}) {
      const Permutation order(count, key);
      std::vector<char> seen(count, 0);
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t at = order(i);
        ASSERT_LT(at, count);
        ASSERT_EQ(seen[at]++, 0) << count << " " << i;
      }
    }
  }
}

TEST(Permutation, DependsOnItsKey) {
  const Permutation a(1000, 1), b(1000, 2);
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) same += a(i) == b(i) ? 1 : 0;
  EXPECT_LT(same, 20);
}

// Neighbours in a random order of n lie n / 3 apart on average; 5 standard errors.
TEST(Permutation, TakesNeighboursFarApart) {
  for (const uint64_t count : {32u, 1000u, 65536u, 100000u}) {
    const Permutation order(count, 5);
    double apart = 0;
    for (uint64_t i = 0; i + 1 < count; ++i) {
      apart += std::abs(static_cast<double>(order(i + 1)) - static_cast<double>(order(i)));
    }
    const double n = static_cast<double>(count);
    EXPECT_NEAR(apart / (n - 1) / n, 1.0 / 3, 5 * 0.236 / std::sqrt(n)) << count;
  }
}

}  // namespace
}  // namespace rafter
