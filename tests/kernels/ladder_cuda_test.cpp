// Every CUDA kernel over the edge cases of its op. A test for each, so that the sanitizers, which slow them down by a factor of
// a hundred, can be given them in parts.
#include "rafter/kernels/all.h"
#include "rafter/ops/op_info.h"
#include "tests/support/op_check.h"

namespace rafter::testing {
namespace {

std::vector<const Kernel*> all_cuda_kernels() {
  std::vector<const Kernel*> found;
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    for (const Kernel* kernel : registry().kernels(static_cast<OpKind>(kind), DeviceKind::cuda)) found.push_back(kernel);
  }
  return found;
}

TEST(CudaLadders, EveryOpHasAKernel) {
#if !defined(RAFTER_WITH_CUDA)
  GTEST_SKIP() << "this build has no CUDA";
#endif
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    EXPECT_FALSE(registry().kernels(static_cast<OpKind>(kind), DeviceKind::cuda).empty()) << name(static_cast<OpKind>(kind));
  }
}

class CudaLadder : public ::testing::TestWithParam<const Kernel*> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaLadder);  // a build without CUDA has no such kernels

TEST_P(CudaLadder, AgreesWithTheReference) { check_kernel(*GetParam()); }

INSTANTIATE_TEST_SUITE_P(AllOps, CudaLadder, ::testing::ValuesIn(all_cuda_kernels()), [](const auto& param) {
  return std::string(name(param.param->op)) + '_' + std::string(param.param->name);
});

}  // namespace
}  // namespace rafter::testing
