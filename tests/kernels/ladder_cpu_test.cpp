// Every CPU kernel over the edge cases of its op.
#include "rafter/ops/op_info.h"
#include "tests/support/op_check.h"

namespace rafter::testing {
namespace {

class CpuLadder : public ::testing::TestWithParam<int> {};

TEST_P(CpuLadder, EveryStepAgreesWithTheReference) { check_all_kernels(static_cast<OpKind>(GetParam()), DeviceKind::cpu); }

INSTANTIATE_TEST_SUITE_P(AllOps, CpuLadder, ::testing::Range(0, kOpKindCount),
                         [](const auto& param) { return std::string(name(static_cast<OpKind>(param.param))); });

}  // namespace
}  // namespace rafter::testing
