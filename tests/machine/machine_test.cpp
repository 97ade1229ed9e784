#include "rafter/machine/machine.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rafter {
namespace {

constexpr double kMi = 1 << 20;

Figure figure(std::string name, double bytes, std::string state, double median) {
  Figure f;
  f.name = std::move(name);
  if (bytes > 0) f.at = {{"bytes", bytes}};
  f.state = std::move(state);
  f.value.median = median;
  return f;
}

Machine machine_with(std::vector<Figure> figures, DeviceKind kind = DeviceKind::cuda) {
  Machine machine;
  machine.device.id.kind = kind;
  machine.figures = std::move(figures);
  return machine;
}

TEST(Figure, KeysNameTheAxesAndTheState) {
  EXPECT_EQ(figure("dram.read", 1 << 30, "cold", 1).key(), "dram.read[bytes=1073741824] cold");
  EXPECT_EQ(figure("latency.l1", 0, "", 1).key(), "latency.l1");
  Figure two = figure("shared.conflict", 0, "warm", 1);
  two.at = {{"ways", 4}, {"width", 0.5}};
  EXPECT_EQ(two.key(), "shared.conflict[ways=4,width=0.5] warm");
  EXPECT_EQ(two.at_value("width"), 0.5);
  EXPECT_FALSE(two.at_value("bytes"));
}

TEST(Machine, LookupsGoByNameAndState) {
  const Machine m = machine_with({figure("a", 1, "cold", 10), figure("a", 1, "warm", 20), figure("a", 2, "warm", 30)});
  EXPECT_EQ(m.find("a")->value.median, 10);
  EXPECT_EQ(m.find("a", "warm")->value.median, 20);
  EXPECT_EQ(m.find("a", "hot"), nullptr);
  EXPECT_EQ(m.find("b"), nullptr);
  EXPECT_EQ(m.all("a").size(), 3u);
  EXPECT_EQ(m.all("a", "warm").size(), 2u);
}

TEST(Machine, BandwidthLiesOnALineOverTheLogOfTheSize) {
  // Out of order, and with one of another state that must not matter.
  const Machine m = machine_with({figure("dram.read", 64 * kMi, "cold", 300), figure("dram.read", 1 * kMi, "cold", 100),
                                  figure("dram.read", 4 * kMi, "cold", 200), figure("dram.read", 4 * kMi, "warm", 9000)});
  EXPECT_EQ(m.bandwidth("dram.read", 4 * kMi), 200);
  EXPECT_NEAR(m.bandwidth("dram.read", 2 * kMi).value(), 150, 1e-9);   // half way from 1 to 4 on a log axis
  EXPECT_NEAR(m.bandwidth("dram.read", 16 * kMi).value(), 250, 1e-9);  // half way from 4 to 64
  EXPECT_EQ(m.bandwidth("dram.read", 1), 100);
  EXPECT_EQ(m.bandwidth("dram.read", 0), 100);
  EXPECT_EQ(m.bandwidth("dram.read", 1e15), 300);
  EXPECT_EQ(m.bandwidth("dram.read", 1, "warm"), 9000);
  EXPECT_FALSE(m.bandwidth("dram.write", 1 * kMi));
}

TEST(Machine, BandwidthPassesOverFiguresWithoutSizeOrValue) {
  const Machine m = machine_with({figure("dram.read", 0, "cold", 100), figure("dram.read", 1 * kMi, "cold", 0)});
  EXPECT_FALSE(m.bandwidth("dram.read", kMi));
}

TEST(Machine, RateIsTheBestBurstOfTheUnit) {
  const Machine m = machine_with({figure("math.bf16.mma", 0, "burst", 600e12), figure("math.bf16.wgmma", 0, "burst", 900e12),
                                  figure("math.bf16.wgmma", 0, "sustained", 950e12),
                                  figure("math1.bf16.simd", 0, "burst", 1e18), figure("math.bf16x.odd", 0, "burst", 1e18)});
  EXPECT_EQ(m.rate(MathUnit::bf16), 900e12);
  EXPECT_FALSE(m.rate(MathUnit::fp8));
}

TEST(Machine, OnAGpuNoUnitStandsInForAnother) {
  EXPECT_FALSE(machine_with({figure("math.fp32.ffma", 0, "burst", 60e12)}).rate(MathUnit::bf16));
}

TEST(Machine, ACpuComputesInFp32WhatItHasNoInstructionFor) {
  const Machine m = machine_with({figure("math.fp32.simd", 0, "burst", 100e9), figure("math.int8.simd", 0, "burst", 300e9),
                                  figure("math.bf16.simd", 0, "burst", 60e9)},
                                 DeviceKind::cpu);
  EXPECT_EQ(m.rate(MathUnit::fp32), 100e9);
  EXPECT_EQ(m.rate(MathUnit::f16), 100e9);
  EXPECT_EQ(m.rate(MathUnit::bf16), 100e9);  // its own instruction is slower
  EXPECT_EQ(m.rate(MathUnit::int8), 300e9);
  EXPECT_FALSE(m.rate(MathUnit::fp64));
  EXPECT_FALSE(machine_with({}, DeviceKind::cpu).rate(MathUnit::bf16));
}

}  // namespace
}  // namespace rafter
