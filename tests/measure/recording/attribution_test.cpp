// Time that kernels share is counted once.
#include "rafter/measure/recording/attribution.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

int64_t total(const std::vector<Attributed>& list) {
  int64_t sum = 0;
  for (const Attributed& a : list) sum += a.own_ns + a.gap_ns;
  return sum;
}

TEST(AttributeOnce, KernelsInTurnKeepTheirTimeAndTheGapsBetween) {
  const std::vector<Span> spans = {{100, 200}, {210, 300}, {300, 350}};
  const auto a = attribute_once(spans);
  EXPECT_EQ(a[0].own_ns, 100);
  EXPECT_EQ(a[0].gap_ns, 0);
  EXPECT_EQ(a[1].own_ns, 90);
  EXPECT_EQ(a[1].gap_ns, 10);
  EXPECT_EQ(a[2].gap_ns, 0);
  EXPECT_EQ(total(a), 250);
}

TEST(AttributeOnce, AnEarlyLaunchHasOnlyWhatFollowsTheKernelItWaitedFor) {
  const std::vector<Span> spans = {{0, 100}, {80, 150}, {150, 160}};
  const auto a = attribute_once(spans);
  EXPECT_EQ(a[1].own_ns, 50);
  EXPECT_EQ(a[1].hidden_ns, 20);
  EXPECT_EQ(total(a), 160);
}

TEST(AttributeOnce, OneThatRunsWithinAnotherHasNoTimeOfItsOwn) {
  const std::vector<Span> spans = {{0, 100}, {10, 20}, {120, 130}};
  const auto a = attribute_once(spans);
  EXPECT_EQ(a[1].own_ns, 0);
  EXPECT_EQ(a[1].hidden_ns, 10);
  EXPECT_EQ(a[2].gap_ns, 20);
  EXPECT_EQ(total(a), 130);
}

TEST(AttributeOnce, NothingAndWhatEndsBeforeItStartsAreHarmless) {
  EXPECT_TRUE(attribute_once({}).empty());
  const std::vector<Span> odd = {{50, 40}, {60, 70}};
  const auto a = attribute_once(odd);
  EXPECT_EQ(a[0].own_ns, 0);
  EXPECT_EQ(total(a), 20);
}

}  // namespace
}  // namespace rafter
