// Floors worked out by hand on a machine with round numbers.
#include "rafter/machine/floor.h"

#include <gtest/gtest.h>

#include <limits>

namespace rafter {
namespace {

constexpr double kMi = 1 << 20;

void add(Machine& machine, std::string name, double bytes, std::string state, double median) {
  Figure f;
  f.name = std::move(name);
  if (bytes > 0) f.at = {{"bytes", bytes}};
  f.state = std::move(state);
  f.value.median = median;
  machine.figures.push_back(std::move(f));
}

// Reads 1 GB/s at 1 MiB and 2 GB/s at 1 GiB, writes at half of each; caches ten times as fast; 100 GFLOP/s bf16, 10 GFLOP/s
// fp32.
Machine round_machine() {
  Machine m;
  m.device.id.kind = DeviceKind::cuda;
  add(m, "dram.read", 1 * kMi, "cold", 1e9);
  add(m, "dram.read", 1024 * kMi, "cold", 2e9);
  add(m, "dram.write", 1 * kMi, "cold", 0.5e9);
  add(m, "dram.write", 1024 * kMi, "cold", 1e9);
  add(m, "l2.read", 1 * kMi, "warm", 10e9);
  add(m, "l2.write", 1 * kMi, "warm", 5e9);
  add(m, "math.bf16.mma", 0, "burst", 100e9);
  add(m, "math.fp32.ffma", 0, "burst", 10e9);
  return m;
}

Cost cost_of(double read, double written, MathUnit unit, double flops) { return {read, written, work_on(unit, flops)}; }

TEST(Floor, MemoryBound) {
  // 500 kB read at 1 GB/s, 100 kB written at 0.5 GB/s: 500 us + 200 us. 1 MFLOP of bf16: 10 us.
  const Floor f = floor(cost_of(500e3, 100e3, MathUnit::bf16, 1e6), round_machine()).value();
  EXPECT_NEAR(f.memory_seconds, 700e-6, 1e-12);
  EXPECT_NEAR(f.math_seconds, 10e-6, 1e-12);
  EXPECT_NEAR(f.seconds, 700e-6, 1e-12);
  EXPECT_EQ(f.limit(), FloorLimit::memory);
  EXPECT_EQ(name(f.limit()), "memory");
}

TEST(Floor, MathBound) {
  const Floor f = floor(cost_of(500e3, 0, MathUnit::bf16, 1e9), round_machine()).value();
  EXPECT_NEAR(f.seconds, 10e-3, 1e-12);
  EXPECT_EQ(f.limit(), FloorLimit::math);
  EXPECT_EQ(name(f.limit()), "math");
}

TEST(Floor, UnitsTakeTurns) {
  Cost cost = cost_of(0, 0, MathUnit::bf16, 1e9);  // 10 ms
  cost += cost_of(0, 0, MathUnit::fp32, 1e9);      // 100 ms
  EXPECT_NEAR(floor(cost, round_machine())->seconds, 110e-3, 1e-12);
}

TEST(Floor, AMissingRoofIsNoFloor) {
  EXPECT_FALSE(floor(cost_of(1e3, 0, MathUnit::fp8, 1e6), round_machine()));
  EXPECT_FALSE(floor(cost_of(1e3, 0, MathUnit::bf16, 0), Machine()));
  Machine reads_only;
  add(reads_only, "dram.read", 1 * kMi, "cold", 1e9);
  EXPECT_TRUE(floor(cost_of(1e3, 0, MathUnit::bf16, 0), reads_only));
  EXPECT_FALSE(floor(cost_of(1e3, 1, MathUnit::bf16, 0), reads_only));
}

TEST(Floor, TheWorkingSetPicksThePoint) {
  const Cost cost = cost_of(1e6, 0, MathUnit::bf16, 0);
  EXPECT_NEAR(floor(cost, round_machine(), {.working_set_bytes = 1 * kMi})->seconds, 1e-3, 1e-12);
  EXPECT_NEAR(floor(cost, round_machine(), {.working_set_bytes = 1024 * kMi})->seconds, 0.5e-3, 1e-12);
  EXPECT_NEAR(floor(cost, round_machine(), {.working_set_bytes = 32 * kMi})->seconds, 1e-3 / 1.5, 1e-12);  // half way
  // Alone its own bytes are the set: reads and writes together.
  const double both = 16 * kMi;
  EXPECT_NEAR(floor(cost_of(both, both, MathUnit::bf16, 0), round_machine())->seconds, both / 1.5e9 + both / 0.75e9, 1e-12);
}

TEST(Floor, InCacheTakesTheCachesRoof) {
  const Cost cost = cost_of(1e6, 1e6, MathUnit::bf16, 0);
  EXPECT_NEAR(floor(cost, round_machine(), {.in_cache = true})->seconds, 0.1e-3 + 0.2e-3, 1e-12);
}

TEST(Floor, OnACpuTheLastCacheIsL3WhereThereIsOne) {
  Machine cpu = round_machine();
  cpu.device.id.kind = DeviceKind::cpu;
  const Cost cost = cost_of(1e6, 0, MathUnit::f16, 0);
  EXPECT_NEAR(floor(cost, cpu, {.in_cache = true})->seconds, 0.1e-3, 1e-12);
  add(cpu, "l3.read", 8 * kMi, "warm", 4e9);
  EXPECT_NEAR(floor(cost, cpu, {.in_cache = true})->seconds, 0.25e-3, 1e-12);
}

TEST(Floor, NothingToDoTakesNoTime) {
  const Floor f = floor(Cost(), Machine()).value();
  EXPECT_EQ(f.seconds, 0);
  EXPECT_EQ(f.fraction_of(1e-6), 0);
}

TEST(Floor, AFractionNeedsATime) {
  const Floor f = floor(cost_of(1e6, 0, MathUnit::bf16, 0), round_machine()).value();
  EXPECT_NEAR(f.fraction_of(2e-3).value(), 0.5, 1e-9);
  EXPECT_FALSE(f.fraction_of(0));
  EXPECT_FALSE(f.fraction_of(-1));
  EXPECT_FALSE(f.fraction_of(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(f.fraction_of(std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace rafter
