#include "rafter/ops/plan.h"

#include <gtest/gtest.h>

#include "rafter/base/error.h"
#include "rafter/ops/cost.h"
#include "rafter/ops/registry.h"

namespace rafter {
namespace {

Plan matmul_plan(const Shape& x, const Shape& w, const Shape& y) {
  Plan plan;
  const ValueId a = plan.add_value({"x", DType::bf16, x});
  const ValueId b = plan.add_value({"w", DType::bf16, w, Role::weight});
  const ValueId c = plan.add_value({"y", DType::f32, y, Role::output});
  plan.add_op({OpKind::matmul, {a, kNone, kNone, kNone, b}, {c}, MatmulAttrs{}, "product", 3});
  return plan;
}

TEST(Plan, ChecksOperandsAndNamesTheOp) {
  EXPECT_NO_THROW(matmul_plan({2, 8}, {5, 8}, {2, 5}));
  try {
    matmul_plan({2, 8}, {5, 7}, {2, 5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("product"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("weights [N, K]"), std::string::npos) << error.what();
  }
  Plan plan;
  EXPECT_THROW(plan.add_op({OpKind::matmul, {}, {}, MatmulAttrs{}, "nothing", -1}), Error);
}

TEST(Plan, ViewsStayInside) {
  Plan plan;
  const ValueId base = plan.add_value({"x", DType::f32, {4, 3}});
  EXPECT_EQ(plan.value(plan.add_view(base, 3, 1)).shape, (Shape{1, 3}));
  EXPECT_THROW(plan.add_view(base, 4, 1), Error);
  EXPECT_THROW(plan.add_view(base, -1, 1), Error);
}

TEST(Cost, OfAMatmulCountsEachByteOnce) {
  const Plan plan = matmul_plan({2, 8}, {5, 8}, {2, 5});
  const Plan::Operands operands = plan.operands(plan.ops()[0]);
  const Cost c = cost(operands.view(plan.ops()[0]), {});
  EXPECT_EQ(c.bytes_read, 2 * 8 * 2 + 5 * 8 * 2);
  EXPECT_EQ(c.bytes_written, 2 * 5 * 4);
  EXPECT_EQ(c.flops(), 2 * 2 * 5 * 8);
}

// Qwen2.5-1.5B's decode attention at 1024 keys: 2 KV heads of 128, bf16, K and V.
TEST(Cost, OfAttentionReadsTheCacheOnceAndHalvesTheCausalSquare) {
  const auto attention = [](OpKind kind, int64_t tokens, int64_t sequences) {
    Plan plan;
    const ValueId q = plan.add_value({"q", DType::bf16, {tokens, 12 * 128}});
    const ValueId k = plan.add_value({"k", DType::bf16, {100, 2, 16, 128}, Role::state});
    const ValueId v = plan.add_value({"v", DType::bf16, {100, 2, 16, 128}, Role::state});
    const ValueId table = plan.add_value({"block_table", DType::i32, {sequences, 70}, Role::input});
    const ValueId positions = plan.add_value({"positions", DType::i32, {tokens}, Role::state});
    const ValueId out = plan.add_value({"out", DType::bf16, {tokens, 12 * 128}});
    plan.add_op({kind, {q, k, v, table, positions}, {out}, AttentionAttrs{12, 2, 128, 0.1}, "attention", 0});
    return plan;
  };
  const Plan decode = attention(OpKind::attention_decode, 1, 1);
  const Cost one = cost(decode.operands(decode.ops()[0]).view(decode.ops()[0]), {.context = 1023});
  EXPECT_EQ(one.bytes_read, 1536 * 2 + 2.0 * 1024 * 2 * 128 * 2);
  EXPECT_EQ(one.flops(), 4.0 * 1024 * 1536);
  const Plan prefill = attention(OpKind::attention_prefill, 64, 1);
  const Cost many = cost(prefill.operands(prefill.ops()[0]).view(prefill.ops()[0]), {.context = 0});
  EXPECT_EQ(many.flops(), 4.0 * (64 * 65 / 2) * 1536);
}

TEST(Registry, PicksTheHighestStepThatSupports) {
  const auto yes = [](const OpView&) { return true; };
  const auto no = [](const OpView&) { return false; };
  Registry registry;
  registry.add({OpKind::matmul, DeviceKind::cpu, "03_no", 3, no});
  registry.add({OpKind::matmul, DeviceKind::cpu, "01_naive", 1, yes});
  registry.add({OpKind::matmul, DeviceKind::cpu, "02_tiled", 2, yes});
  const Plan plan = matmul_plan({2, 8}, {5, 8}, {2, 5});
  const Plan::Operands operands = plan.operands(plan.ops()[0]);
  EXPECT_EQ(registry.pick(operands.view(plan.ops()[0]), DeviceKind::cpu).name, "02_tiled");
  EXPECT_EQ(registry.kernels(OpKind::matmul, DeviceKind::cpu).front()->name, "01_naive");
  try {
    registry.pick(operands.view(plan.ops()[0]), DeviceKind::cuda);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bf16[5, 8]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rafter
