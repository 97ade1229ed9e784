// Eight kernels of one job on an H200, as Nsight Compute and PyTorch recorded them: each is called by the name that a
// specialist who looks at all its metrics would give it. data/ has the columns, metrics and events that are read, as they were
// written; the roofs are those measured on that machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rafter/measure/profiles/bottleneck.h"
#include "rafter/measure/profiles/profile.h"

namespace rafter {
namespace {

KernelRoofs h200() {
  KernelRoofs roofs;
  roofs.dram_bytes_per_second = 4.47e12;
  roofs.l2_bytes_per_second = 8.89e12;
  roofs.fp32_flops_per_second = 65.2e12;
  roofs.tensor_flops_per_second = {{"bf16", 916e12}, {"tf32", 468e12}};
  return roofs;
}

Profile data(const std::string& name) {
  return read_profile(fmt::format("{}/tests/measure/profiles/data/{}", RAFTER_SOURCE_DIR, name));
}

// The first whose name holds `part`.
KernelRecord kernel_of(const Profile& profile, std::string_view part) {
  for (const KernelRecord& kernel : profile.kernels) {
    if (kernel.name.find(part) != std::string::npos) return kernel;
  }
  ADD_FAILURE() << "no kernel " << part;
  return {};
}

void expect(const std::string& file, std::string_view kernel, Bound limit, std::string_view evidence) {
  const Bottleneck found = judge(kernel_of(data(file), kernel), h200());
  EXPECT_STREQ(name(found.limit), name(limit)) << file << ": " << kernel << ": " << found.evidence;
  EXPECT_NE(found.evidence.find(evidence), std::string::npos) << file << ": " << kernel << ": " << found.evidence;
}

TEST(RealKernels, AFewWastefulStoresAreNotTheLimit) {
  // 529 of its 8.4 million sectors are stored, and an eighth of their bytes used; the loads run at 88% of DRAM.
  expect("h200_raw.csv", "reduce_kernel", Bound::dram, "moves 271 MB in 69.3 us");
  expect("h200_details.csv", "reduce_kernel", Bound::dram, "moves 271 MB in 69.3 us");
}

TEST(RealKernels, LoadsThatUseAThirdOfTheirSectorsAre) {
  expect("h200_raw.csv", "index_elementwise_kernel", Bound::uncoalesced, "64% of the global sectors it moves");
  expect("h200_raw.csv", "index_elementwise_kernel", Bound::uncoalesced, "loads use 30% of the bytes of theirs");
}

TEST(RealKernels, APipeNearerItsRoofThanSharedMemoryIsTheLimit) {
  expect("h200_raw.csv", "simt_sgemm", Bound::fp32, "77% of the measured FP32 roof");
  expect("h200_raw.csv", "256x128_64x4", Bound::tensor, "784 TFLOP/s");
}

TEST(RealKernels, BothPagesCallAHalfEmptyGpuLatency) {
  // 64 blocks on 132 SMs. L2's own percentage, 61, has traffic inside it that no kernel asked for: Nsight Compute's verdict
  // on memory, 49, leaves that out.
  expect("h200_raw.csv", "cunn_SoftMaxForward", Bound::latency, "(DRAM 53%); the grid fills 24% of the GPU");
  expect("h200_details.csv", "cunn_SoftMaxForward", Bound::latency, "(DRAM 53%); the grid fills 24% of the GPU");
}

TEST(RealKernels, TheOthersAreAsTheyWere) {
  for (const char* file : {"h200_raw.csv", "h200_details.csv"}) {
    expect(file, "AUnaryFunctor", Bound::dram, "92% of the measured DRAM roof");
    expect(file, "128x8_64x12", Bound::dram, "moves 27.6 MB");
    expect(file, "CUDAFunctorOnSelf_add", Bound::launch, "runs 2.18 us");
  }
}

TEST(RealKernels, TheGainIsAtTheRoofThatBounds) {
  const Bottleneck index = judge(kernel_of(data("h200_details.csv"), "index_elementwise_kernel"), h200());
  EXPECT_EQ(index.limit, Bound::l2);
  EXPECT_EQ(index.roof, "L2, the profiler's peak");
  EXPECT_NEAR(index.fraction.value(), 0.855, 0.001);
  // Its SMs are at 85% by a pipe that the page does not name: how far DRAM is from its roof says nothing of what it may gain.
  const Bottleneck sgemm = judge(kernel_of(data("h200_details.csv"), "simt_sgemm"), h200());
  EXPECT_EQ(sgemm.limit, Bound::unknown);
  EXPECT_FALSE(sgemm.fraction.has_value());
}

TEST(RealKernels, OfPyTorchAreJudgedByWhatTheirOpsNeed) {
  const Profile profile = data("h200_torch.json");
  ASSERT_EQ(profile.kernels.size(), 13u);
  const KernelRecord bf16 = kernel_of(profile, "256x128_64x4");
  EXPECT_DOUBLE_EQ(bf16.needed_flops.value(), 2.0 * 4096 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(bf16.needed_bytes.value(), 3.0 * 4096 * 4096 * 2);
  EXPECT_NEAR(*bf16.needed_flops / bf16.seconds.value(), 776e12, 1e12);  // 177 us; Nsight Compute's own launch was 175
  expect("h200_torch.json", "256x128_64x4", Bound::tensor, "needs 137 GFLOP in 177 us: 776 TFLOP/s, 85%");

  const KernelRecord softmax = kernel_of(profile, "cunn_SoftMaxForward");
  EXPECT_DOUBLE_EQ(softmax.needed_bytes.value(), 2.0 * 64 * 1048576 * 4);
  EXPECT_EQ(softmax.dtype, "f32");
  expect("h200_torch.json", "cunn_SoftMaxForward", Bound::latency, "must move 537 MB in 452 us: 1.19 TB/s, 27%");

  EXPECT_DOUBLE_EQ(kernel_of(profile, "128x8_64x12").needed_bytes.value(), 2.0 * (1536 + 1536 * 8960 + 8960));
  EXPECT_DOUBLE_EQ(kernel_of(profile, "simt_sgemm").needed_flops.value(), 2.0 * 2048 * 2048 * 2048);
  expect("h200_torch.json", "simt_sgemm", Bound::fp32, "77% of the measured FP32 roof");
  EXPECT_DOUBLE_EQ(kernel_of(profile, "CUDAFunctorOnSelf_add").needed_bytes.value(), 2.0 * 1536 * 2 + 8);
  EXPECT_FALSE(kernel_of(profile, "index_elementwise_kernel").needed_bytes.has_value()) << "the trace has no indices";
}

}  // namespace
}  // namespace rafter
