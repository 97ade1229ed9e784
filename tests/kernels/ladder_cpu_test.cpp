// Every CPU kernel over the edge cases of its op, and the vectorised ones on every vector target that the machine has.
#include "rafter/kernels/all.h"
#include "rafter/ops/op_info.h"
#include "tests/kernels/cpu_targets.h"
#include "tests/support/op_check.h"

namespace rafter::testing {
namespace {

class CpuLadder : public ::testing::TestWithParam<int> {
 protected:
  OpKind kind() const { return static_cast<OpKind>(GetParam()); }
};

TEST_P(CpuLadder, EveryStepAgreesWithTheReference) { check_all_kernels(kind(), DeviceKind::cpu); }

TEST_P(CpuLadder, LesserTargetsAgreeToo) {
  const std::vector<int64_t> targets = cpu_targets();  // the best first
  for (size_t i = 1; i < targets.size(); ++i) {
    const OnTarget on(targets[i]);
    for (const Kernel* kernel : registry().kernels(kind(), DeviceKind::cpu)) {
      if (kernel->step == 1) continue;  // plain scalar code, the same everywhere
      for (const OpCase& test : cases(kind())) {
        const Outcome outcome = run_case(*kernel, test, DeviceId{}, 17);
        EXPECT_EQ(outcome.fault, "") << kernel->name << " on " << target_name(targets[i]) << ", case " << test.name;
        EXPECT_FALSE(outcome.supported && targets[i] == HWY_SCALAR) << kernel->name << " needs vectors";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, CpuLadder, ::testing::Range(0, kOpKindCount),
                         [](const auto& test) { return std::string(name(static_cast<OpKind>(test.param))); });

}  // namespace
}  // namespace rafter::testing
