#include "rafter/passes/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rafter/models/step_plan.h"
#include "rafter/ops/matmul.h"

namespace rafter {
namespace {

Plan step(OpKind attention, int64_t tokens) {
  const Checkpoint checkpoint = Checkpoint::random(shipped_config("smollm2-135m"), DType::bf16);
  StepSpec spec;
  spec.attention = attention;
  spec.tokens = tokens;
  spec.activation = spec.cache = DType::bf16;
  spec.greedy = attention == OpKind::attention_decode;
  spec.logits = spec.greedy ? LogitRows::all : LogitRows::last;
  return build_step(checkpoint.config(), checkpoint.tensors(), spec);
}

int64_t count(const Plan& plan, OpKind kind) {
  return std::count_if(plan.ops().begin(), plan.ops().end(), [&](const Op& op) { return op.kind == kind; });
}

TEST(Fuse, DecodeLosesEveryNormAndSwiglu) {
  Plan plan = step(OpKind::attention_decode, 1);
  const int64_t layers = shipped_config("smollm2-135m").layers;
  EXPECT_EQ(count(plan, OpKind::rmsnorm), 2 * layers + 1);
  const auto report = fuse(plan);
  EXPECT_EQ(report[0].applied, 2 * layers + 1);
  EXPECT_EQ(report[1].applied, layers);
  EXPECT_EQ(count(plan, OpKind::rmsnorm), 0);
  EXPECT_EQ(count(plan, OpKind::swiglu), 0);
  EXPECT_EQ(static_cast<int64_t>(plan.ops().size()), 1 + 6 * layers + 3);
}

TEST(Fuse, PrefillOfManyRowsKeepsItsNorms) {
  Plan plan = step(OpKind::attention_prefill, 64);
  fuse(plan);
  const int64_t layers = shipped_config("smollm2-135m").layers;
  EXPECT_EQ(count(plan, OpKind::rmsnorm), 2 * layers);  // the last one norms one row and goes into the head
  EXPECT_EQ(count(plan, OpKind::swiglu), 0);
}

TEST(Fuse, EveryRuleSaysWhy) {
  for (const FusionRule& rule : fusion_rules()) EXPECT_GT(rule.why.size(), 20u) << rule.name;
}

}  // namespace
}  // namespace rafter
