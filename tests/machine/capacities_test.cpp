// Knees of made-up curves get the names of the levels that they belong to.
#include "rafter/machine/capacities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rafter {
namespace {

constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024;

Machine hopper() {
  Machine machine;
  machine.device.compute_major = 9;
  machine.device.l2_bytes = static_cast<int64_t>(50 * kMi);
  return machine;
}

template <typename Shape>
void add_curve(Machine& machine, const std::string& name, double from, double to, double step, const Shape& shape) {
  for (double x = from; x <= to; x *= step) {
    Estimate value;
    value.median = shape(x);
    machine.figures.push_back({name, {{"bytes", std::round(x)}}, "warm", "s", value, {}});
  }
}

TEST(Capacities, OfL1AndL2ComeFromTheChase) {
  Machine machine = hopper();
  add_curve(machine, "latency.chase", 4 * kKi, kGi, 1.04, [](double x) {
    return x < 190 * kKi ? 20e-9 : x < 26 * kMi ? 140e-9 : x < 45 * kMi ? 200e-9 : 380e-9;
  });
  const auto figures = cache_capacities(machine, "latency.chase");
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(figures[0].key(), "capacity.l1 latency");
  EXPECT_EQ(figures[1].key(), "capacity.l2 latency");
  EXPECT_EQ(figures[2].key(), "capacity.l2_near latency");
  EXPECT_NEAR(figures[0].value.median / (190 * kKi), 1, 0.05);
  EXPECT_NEAR(figures[1].value.median / (45 * kMi), 1, 0.05);
  EXPECT_NEAR(figures[2].value.median / (26 * kMi), 1, 0.05);
  EXPECT_TRUE(figures[0].remark.starts_with("documented 256 KiB")) << figures[0].remark;
  EXPECT_TRUE(figures[1].remark.starts_with("documented 50.0 MiB")) << figures[1].remark;
}

TEST(Capacities, ABandwidthThatFallsAtHalfOfL2IsOnePartition) {
  Machine machine = hopper();
  add_curve(machine, "l2.read", kMi, 100 * kMi, 1.12, [](double x) { return x < 27 * kMi ? 9.7e12 : 6e12; });
  const auto figures = cache_capacities(machine, "l2.read");
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].key(), "capacity.l2_near bandwidth");
}

TEST(Capacities, TlbLevelsAreNumbered) {
  Machine machine = hopper();
  add_curve(machine, "latency.pages", 2 * kMi, 32 * kGi, 1.2, [](double x) {
    return x < 64 * kMi ? 150e-9 : x < 4 * kGi ? 190e-9 : 500e-9;
  });
  const auto figures = tlb_capacities(machine);
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].key(), "capacity.tlb[level=1] latency");
  EXPECT_EQ(figures[1].key(), "capacity.tlb[level=2] latency");
  EXPECT_NEAR(figures[1].value.median / (4 * kGi), 1, 0.2);
}

TEST(Capacities, NoCurveGivesNone) {
  EXPECT_TRUE(cache_capacities(hopper(), "latency.chase").empty());
  EXPECT_TRUE(tlb_capacities(hopper()).empty());
}

}  // namespace
}  // namespace rafter
