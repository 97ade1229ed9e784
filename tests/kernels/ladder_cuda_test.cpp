// Every CUDA kernel over the edge cases of its op.
#include "rafter/ops/op_info.h"
#include "tests/support/op_check.h"

namespace rafter::testing {
namespace {

class CudaLadder : public ::testing::TestWithParam<int> {};

TEST_P(CudaLadder, EveryStepAgreesWithTheReference) { check_all_kernels(static_cast<OpKind>(GetParam()), DeviceKind::cuda); }

INSTANTIATE_TEST_SUITE_P(AllOps, CudaLadder, ::testing::Range(0, kOpKindCount),
                         [](const auto& param) { return std::string(name(static_cast<OpKind>(param.param))); });

}  // namespace
}  // namespace rafter::testing
