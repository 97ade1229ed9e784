#include "rafter/passes/memory.h"

#include <gtest/gtest.h>

#include "rafter/base/random.h"

namespace rafter {
namespace {

// A chain of norms: each value lives for two ops, so two places are enough however long it is.
Plan chain(int length, int64_t width) {
  Plan plan;
  const ValueId weight = plan.add_value({"w", DType::f32, {width}, Role::weight});
  ValueId x = plan.add_value({"in", DType::f32, {4, width}, Role::input});
  for (int i = 0; i < length; ++i) {
    const ValueId y = plan.add_value({"y", DType::f32, {4, width}});
    plan.add_op({OpKind::rmsnorm, {x, weight}, {y}, RmsNormAttrs{}, "norm", i});
    x = y;
  }
  return plan;
}

TEST(MemoryPlan, SharesWhatDoesNotLiveTogether) {
  const Plan plan = chain(20, 64);
  const MemoryPlan memory = plan_memory(plan, std::vector<int64_t>(20, 0));
  EXPECT_EQ(memory.arena_bytes, 2 * 1024);
  EXPECT_EQ(memory.unshared_bytes, 20 * 1024);
  EXPECT_EQ(memory.offsets[0], -1);  // a weight has a place of its own
}

TEST(MemoryPlan, WorkspacesLiveForTheirOp) {
  const Plan plan = chain(3, 64);
  const MemoryPlan memory = plan_memory(plan, std::vector<int64_t>{5000, 0, 5000});
  EXPECT_EQ(memory.workspace_offsets[0], memory.workspace_offsets[2]);
  EXPECT_EQ(memory.workspace_offsets[1], -1);
}

TEST(MemoryPlan, AViewKeepsItsBaseAlive) {
  Plan plan = chain(1, 64);
  const ValueId base = plan.ops()[0].outputs[0], view = plan.add_view(base, 3, 1);
  const ValueId weight = 0;
  const ValueId other = plan.add_value({"other", DType::f32, {4, 64}});
  plan.add_op({OpKind::rmsnorm, {1, weight}, {other}, RmsNormAttrs{}, "other", 0});
  const ValueId last = plan.add_value({"last", DType::f32, {1, 64}, Role::output});
  plan.add_op({OpKind::rmsnorm, {view, weight}, {last}, RmsNormAttrs{}, "last", 0});
  const MemoryPlan memory = plan_memory(plan, std::vector<int64_t>(3, 0));
  EXPECT_EQ(memory.offsets[static_cast<size_t>(view)], -1);
  EXPECT_NE(memory.offsets[static_cast<size_t>(base)], memory.offsets[static_cast<size_t>(other)]);
}

// Random plans: no two values that live together overlap.
TEST(MemoryPlan, LivingValuesNeverOverlap) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    Plan plan;
    const int64_t width = 32;
    const ValueId weight = plan.add_value({"w", DType::f32, {width}, Role::weight});
    std::vector<ValueId> values = {plan.add_value({"in", DType::f32, {8, width}, Role::input})};
    for (int i = 0; i < 30; ++i) {
      const ValueId x = values[random.below(static_cast<uint32_t>(values.size()))];
      values.push_back(plan.add_value({"y", DType::f32, plan.value(x).shape}));
      plan.add_op({OpKind::rmsnorm, {x, weight}, {values.back()}, RmsNormAttrs{}, "norm", i});
    }
    std::vector<int64_t> workspaces;
    for (int i = 0; i < 30; ++i) workspaces.push_back(random.below(3) == 0 ? 1 + random.below(4000) : 0);
    const MemoryPlan memory = plan_memory(plan, workspaces);
    struct Span {
      int64_t begin, end;
      int first, last;
    };
    std::vector<Span> spans;
    for (size_t id = 2; id < plan.values().size(); ++id) {
      Span span{memory.offsets[id], memory.offsets[id] + 8 * width * 4, -1, -1};
      for (int i = 0; i < 30; ++i) {
        const Op& op = plan.ops()[static_cast<size_t>(i)];
        if (op.inputs[0] == static_cast<ValueId>(id) || op.outputs[0] == static_cast<ValueId>(id)) {
          if (span.first < 0) span.first = i;
          span.last = i;
        }
      }
      spans.push_back(span);
    }
    for (int i = 0; i < 30; ++i) {
      const auto at = static_cast<size_t>(i);
      if (workspaces[at] > 0)
        spans.push_back({memory.workspace_offsets[at], memory.workspace_offsets[at] + workspaces[at], i, i});
    }
    for (size_t a = 0; a < spans.size(); ++a) {
      EXPECT_LE(spans[a].end, memory.arena_bytes + 255);
      for (size_t b = 0; b < a; ++b) {
        const bool together = spans[a].first <= spans[b].last && spans[b].first <= spans[a].last;
        EXPECT_FALSE(together && spans[a].begin < spans[b].end && spans[b].begin < spans[a].end);
      }
    }
  }
}

}  // namespace
}  // namespace rafter
