// Each verdict by a kernel that deserves it, the order between them, and the gain by hand-worked numbers.
#include "rafter/measure/profiles/bottleneck.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

KernelRoofs roofs() {
  KernelRoofs roofs;
  roofs.dram_bytes_per_second = 4e12;
  roofs.l2_bytes_per_second = 10e12;
  roofs.fp32_flops_per_second = 60e12;
  roofs.tensor_flops_per_second = {{"bf16", 800e12}};
  return roofs;
}

KernelRecord timed(double seconds) {
  KernelRecord kernel;
  kernel.seconds = seconds;
  return kernel;
}

// Everything known and idle: a kernel that waits.
KernelRecord idle() {
  KernelRecord kernel = timed(100e-6);
  kernel.dram_percent = 20;
  kernel.l2_percent = 15;
  kernel.l1_percent = 40;
  kernel.sm_percent = 25;
  kernel.achieved_occupancy = 20;
  kernel.theoretical_occupancy = 25;
  return kernel;
}

void expect(const KernelRecord& kernel, Bound limit, std::string_view evidence, const KernelRoofs& given = roofs()) {
  const Bottleneck found = judge(kernel, given);
  EXPECT_STREQ(name(found.limit), name(limit)) << found.evidence;
  EXPECT_NE(found.evidence.find(evidence), std::string::npos) << found.evidence;
  EXPECT_EQ(found.evidence.find('\n'), std::string::npos);
}

TEST(Bottleneck, DramByMeasuredBytesUnderTheMeasuredRoof) {
  KernelRecord kernel = timed(100e-6);
  kernel.dram_bytes_read = 200e6;
  kernel.dram_bytes_written = 100e6;  // 300 MB in 100 us: 3 TB/s of 4
  expect(kernel, Bound::dram, "moves 300 MB in 100 us: 3.00 TB/s, 75% of the measured DRAM roof");
  const Bottleneck found = judge(kernel, roofs());
  EXPECT_DOUBLE_EQ(found.fraction.value(), 0.75);
  EXPECT_DOUBLE_EQ(found.roof_seconds.value(), 75e-6);
  EXPECT_EQ(found.roof, "DRAM");
}

TEST(Bottleneck, ManyLaunchesAreJudgedByOne) {
  KernelRecord kernel = timed(1e-3);
  kernel.launches = 10;
  kernel.dram_bytes_both = 3e9;
  expect(kernel, Bound::dram, "moves 300 MB in 100 us");
  EXPECT_DOUBLE_EQ(judge(kernel, roofs()).roof_seconds.value(), 75e-6);
}

TEST(Bottleneck, WithoutRoofsTheProfilersOwnPeak) {
  KernelRecord kernel = timed(100e-6);
  kernel.dram_percent = 82;
  expect(kernel, Bound::dram, "DRAM at 82% of the profiler's peak", {});
  EXPECT_EQ(judge(kernel, {}).roof, "DRAM, the profiler's peak");
  EXPECT_NEAR(judge(kernel, {}).roof_seconds.value(), 82e-6, 1e-12);
}

TEST(Bottleneck, TensorL2AndFp32) {
  KernelRecord kernel = timed(100e-6);
  kernel.tensor_flops = {{"bf16", 60e9}};  // 600 TFLOP/s of 800
  expect(kernel, Bound::tensor, "computes 60.0 GFLOP in 100 us: 600 TFLOP/s, 75% of the measured tensor bf16 roof");
  kernel.tensor_flops.clear();
  kernel.l2_bytes = 900e6;  // 9 TB/s of 10
  kernel.dram_percent = 30;
  expect(kernel, Bound::l2, "90% of the measured L2 roof");
  kernel.l2_bytes.reset();
  kernel.fp32_flops = 5.4e9;  // 54 TFLOP/s of 60
  expect(kernel, Bound::fp32, "90% of the measured FP32 roof");
}

TEST(Bottleneck, NeededWorkOfRaftersOwnFiles) {
  KernelRecord kernel = timed(100e-6);
  kernel.dtype = "bf16";
  kernel.needed_bytes = 40e6;
  kernel.needed_flops = 64e9;
  expect(kernel, Bound::tensor, "needs 64.0 GFLOP");
  kernel.needed_flops = 1e9;
  kernel.needed_bytes = 360e6;
  expect(kernel, Bound::dram, "must move 360 MB");
}

TEST(Bottleneck, FarFromWhatItNeedsItWaitsOrDoesMore) {
  KernelRecord kernel = timed(100e-6);
  kernel.dtype = "bf16";
  kernel.needed_bytes = 120e6;
  kernel.needed_flops = 0;  // a copy
  expect(kernel, Bound::latency,
         "must move 120 MB in 100 us: 1.20 TB/s, 30% of the measured DRAM roof; it waits, or does more than it needs to");
  EXPECT_DOUBLE_EQ(judge(kernel, roofs()).fraction.value(), 0.3);
}

TEST(Bottleneck, NeededFlopsOfF64AreUnderItsOwnRoof) {
  KernelRoofs given = roofs();
  given.fp64_flops_per_second = 50e12;
  KernelRecord kernel = timed(100e-6);
  kernel.dtype = "f64";
  kernel.needed_flops = 4e9;
  expect(kernel, Bound::fp64, "needs 4.00 GFLOP in 100 us: 40.0 TFLOP/s, 80% of the measured FP64 roof", given);
}

TEST(Bottleneck, ShortKernelsAreLaunchBoundUnlessAtARoof) {
  expect(timed(3e-6), Bound::launch, "runs 3.00 us");
  KernelRecord gapped = timed(20e-6);
  gapped.gap_seconds = 30e-6;
  expect(gapped, Bound::launch, "runs 20.0 us after 30.0 us of idle stream");
  KernelRecord full = timed(3e-6);
  full.dram_bytes_both = 10e6;
  expect(full, Bound::dram, "83% of the measured DRAM roof");
}

TEST(Bottleneck, WasteComesBeforeTheRoofItFills) {
  KernelRecord kernel = idle();
  kernel.dram_percent = 85;
  kernel.sector_use_load = 12.5;
  expect(kernel, Bound::uncoalesced, "global loads use 12% of the bytes of their sectors");
  kernel.local_bytes = 30;
  kernel.l1_bytes = 100;
  kernel.registers_per_thread = 255;
  expect(kernel, Bound::spills,
         "30% of the bytes through L1 are local memory (spills, indexed arrays) at 255 registers a thread");
  kernel = idle();
  kernel.l1_percent = 85;
  kernel.shared_conflicts = 60;
  kernel.shared_wavefronts = 80;
  expect(kernel, Bound::bank_conflicts, "75% of the wavefronts");
  kernel = idle();
  kernel.local_instructions = 20;
  kernel.instructions = 100;
  expect(kernel, Bound::spills, "20% of the instructions");
}

TEST(Bottleneck, WasteInAnIdleUnitIsNotTheLimit) {
  KernelRecord kernel = idle();
  kernel.l1_percent = 10;
  kernel.sector_use_load = 12.5;
  kernel.shared_conflicts = 60;
  kernel.shared_wavefronts = 80;
  expect(kernel, Bound::latency, "no unit is near its peak");
}

TEST(Bottleneck, WideLoadsTouchManySectorsAndAreCoalesced) {
  KernelRecord kernel = idle();
  kernel.dram_percent = 85;
  kernel.sectors_per_load = 16;  // 16 bytes a lane
  expect(kernel, Bound::dram, "85%");
  kernel.sectors_per_load = 32;
  expect(kernel, Bound::uncoalesced, "32.0 sectors a request");
  kernel.sector_use_load = 100;  // known to be used: then that is what counts
  expect(kernel, Bound::dram, "85%");
}

TEST(Bottleneck, WasteIsWeighedByWhatTheKernelMovesInAll) {
  KernelRecord kernel = idle();
  kernel.dram_percent = 85;
  kernel.sector_use_load = 100;
  kernel.sector_use_store = 12.5;
  kernel.global_sectors = 1000;
  kernel.wasted_sectors = 240;
  expect(kernel, Bound::dram, "85%");
  kernel.wasted_sectors = 250;
  expect(kernel, Bound::uncoalesced,
         "25% of the global sectors it moves hold nothing that it asked for; stores use 12% of the bytes of theirs");
  kernel.global_sectors = kernel.wasted_sectors = 0;  // all of it through the copy engine
  expect(kernel, Bound::dram, "85%");
}

TEST(Bottleneck, OneWaysWasteIsNotTheLimitAtAMeasuredRoofOfMemory) {
  KernelRecord kernel = timed(100e-6);
  kernel.sector_use_store = 12.5;
  kernel.dram_bytes_both = 316e6;  // 79% of 4 TB/s
  expect(kernel, Bound::uncoalesced, "global stores use 12%");
  kernel.dram_bytes_both = 324e6;
  expect(kernel, Bound::dram, "81% of the measured DRAM roof");
  kernel.dram_bytes_both.reset();
  kernel.needed_bytes = 324e6;
  expect(kernel, Bound::dram, "81% of the measured DRAM roof");
}

TEST(Bottleneck, WasteUnderABusierPipeIsNotTheLimit) {
  KernelRecord kernel = idle();
  kernel.tensor_flops = {{"bf16", 60e9}};  // 75% of 800 TFLOP/s
  kernel.l2_percent = 70;
  kernel.sector_use_load = 12.5;
  expect(kernel, Bound::tensor, "75%");
  kernel.l2_percent = 80;
  expect(kernel, Bound::uncoalesced, "global loads use 12%");
}

TEST(Bottleneck, ConflictsAreTheLimitWhereL1IsTheBusiest) {
  KernelRecord kernel = idle();
  kernel.l1_percent = 45;
  kernel.shared_conflicts = 28;
  kernel.shared_wavefronts = 100;
  kernel.fp32_flops = 2.4e9;  // 24 TFLOP/s of 60
  expect(kernel, Bound::bank_conflicts, "28% of the wavefronts");
  kernel.fp32_flops = 4.5e9;  // 75%
  expect(kernel, Bound::fp32, "75% of the measured FP32 roof");
  kernel.fp32_flops = 3e9;  // 50%: at no roof, yet nearer to it than L1 is
  expect(kernel, Bound::latency, "FP32 50%");
  kernel.fp32_flops.reset();
  kernel.sm_percent = 85;
  expect(kernel, Bound::unknown, "the SMs are at 85%");
  kernel.sm_percent = 30;
  kernel.dram_percent = 70;
  expect(kernel, Bound::dram, "DRAM at 70%");
  kernel.l1_percent.reset();
  expect(kernel, Bound::dram, "DRAM at 70%");
  kernel.dram_percent = 20;
  expect(kernel, Bound::bank_conflicts, "28%");
}

TEST(Bottleneck, LatencyByOccupancyByGridAndByWaiting) {
  expect(idle(), Bound::latency, "(DRAM 20%); 20% of the warps an SM can hold are there, 25% could be");
  KernelRecord kernel = idle();
  kernel.waves_per_sm = 0.25;
  expect(kernel, Bound::latency, "the grid fills 25% of the GPU");
  kernel = idle();
  kernel.achieved_occupancy = 90;
  expect(kernel, Bound::latency, "90% occupancy) and wait");
}

TEST(Bottleneck, TheUnknownSaysWhatWouldTell) {
  expect(timed(100e-6), Bound::unknown, "not what it did");
  const Bottleneck found = judge(timed(100e-6), roofs());
  EXPECT_FALSE(found.fraction.has_value());
  EXPECT_EQ(found.would_tell.size(), 3u);
  EXPECT_EQ(judge(KernelRecord{}, roofs()).would_tell.at(0), "gpu__time_duration.sum");
  KernelRecord busy = idle();
  busy.sm_percent = 88;
  expect(busy, Bound::unknown, "the SMs are at 88%");
  EXPECT_EQ(judge(busy, {}).would_tell.at(0), "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed");
}

TEST(Bottleneck, AFilesOwnFloorGivesTheGainWhereNoRoofDoes) {
  KernelRecord kernel = timed(100e-6);
  kernel.floor_seconds = 80e-6;
  const Bottleneck found = judge(kernel, {});
  EXPECT_EQ(found.roof, "the file's floor");
  EXPECT_DOUBLE_EQ(found.fraction.value(), 0.8);
}

}  // namespace
}  // namespace rafter
