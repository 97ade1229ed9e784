// Counters of several kernels as one, and the metrics by which each chip's counters are read.
#include "rafter/measure/counters.h"

#include <gtest/gtest.h>

#include <array>

namespace rafter {
namespace {

TEST(Counters, OfSeveralKernelsAddUpAndPercentagesAreWeightedByCycles) {
  KernelCounters a, b;
  a.cycles = 100, a.dram_bytes_read = 10, a.dram_bytes_written = 1, a.tensor_percent = 50;
  b.cycles = 300, b.dram_bytes_read = 20, b.dram_bytes_written = 2, b.tensor_percent = 10;
  const std::array<KernelCounters, 2> both = {a, b};
  const KernelCounters sum = together(both);
  EXPECT_EQ(sum.cycles, 400);
  EXPECT_EQ(sum.dram_bytes(), 33);
  EXPECT_EQ(sum.tensor_percent, 20);
  EXPECT_EQ(sum.l2_bytes, std::nullopt);
}

TEST(Counters, WhatOneKernelLacksIsUnknownOfThemAll) {
  KernelCounters a, b;
  a.cycles = 100, a.dram_bytes_read = 10, a.tensor_percent = 50;
  b.dram_bytes_written = 3;
  const std::array<KernelCounters, 2> both = {a, b};
  const KernelCounters sum = together(both);
  EXPECT_EQ(sum.cycles, std::nullopt);
  EXPECT_EQ(sum.dram_bytes(), std::nullopt);
  EXPECT_EQ(sum.tensor_percent, std::nullopt);
}

// Needs CUPTI's host library and no GPU.
TEST(CounterMetrics, EveryChipHasItsOwnNames) {
  auto hopper = counter_metrics("GH100");
  if (hopper.empty()) GTEST_SKIP() << "CUPTI with the range profiler (CUDA 12.6 or newer) is not on this machine";
  EXPECT_EQ(hopper.size(), 11u);
  EXPECT_EQ(hopper["dram_bytes_read"], "dram__bytes_read.sum");
  auto ada = counter_metrics("AD102"), blackwell = counter_metrics("GB202");
  EXPECT_EQ(ada.count("l2_fabric_bytes"), 0u);  // its L2 is one piece
  EXPECT_EQ(blackwell["dram_bytes_read"], "dram__bytes_op_read.sum");
  for (const char* chip : {"TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"}) {
    EXPECT_EQ(counter_metrics(chip).count("dram_bytes_written"), 1u) << chip;
  }
  EXPECT_TRUE(counter_metrics("XX100").empty());
}

TEST(CountKernels, OnTheCpuSaysWhyNot) {
  bool ran = false;
  const CounterRun run = count_kernels(device({DeviceKind::cpu, 0}), 10, [&] { ran = true; });
  EXPECT_TRUE(run.kernels.empty());
  EXPECT_NE(run.why_not.find("cpu"), std::string::npos);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace rafter
