#include "rafter/measure/trace.h"

#include <gtest/gtest.h>

#include "rafter/measure/bench.h"
#include "tests/support/errors.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

struct Model {
  explicit Model(EngineOptions options = {})
      : checkpoint(Checkpoint::random(test::tiny_config(Architecture::qwen3), DType::f32)), engine(checkpoint, options) {}
  Checkpoint checkpoint;
  Engine engine;
};

TraceOptions traced(int64_t context, int64_t prefill = 0) {
  TraceOptions options;
  options.context = context;
  options.prefill = prefill;
  options.repeats = 5;
  return options;
}

TEST(Trace, ADecodeStepHasEveryOpOfThePlanWithItsTimeAndCost) {
  Model model;
  const StepTrace trace = trace_step(model.engine, traced(20));
  const Plan& plan = model.engine.decode_program(true).plan();
  ASSERT_EQ(trace.ops.size(), plan.ops().size());
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    EXPECT_EQ(trace.ops[i].name, plan.ops()[i].name);
    EXPECT_EQ(trace.ops[i].layer, plan.ops()[i].layer);
    EXPECT_GT(trace.ops[i].seconds, 0) << trace.ops[i].name;
    EXPECT_FALSE(trace.ops[i].shape.empty()) << trace.ops[i].name;
    EXPECT_FALSE(trace.ops[i].kernel.empty()) << trace.ops[i].name;
  }
  EXPECT_DOUBLE_EQ(trace.cost().flops(), plan_cost(plan, {20}).flops());
  EXPECT_DOUBLE_EQ(trace.cost().bytes(), plan_cost(plan, {20}).bytes());
  EXPECT_GT(trace.step_seconds, 0);
  EXPECT_DOUBLE_EQ(trace.gap_seconds(), trace.step_seconds - trace.op_seconds());
  EXPECT_FALSE(trace.method.empty());
  EXPECT_EQ(trace.tokens, 1);
  EXPECT_EQ(model.engine.length(0), 0);
}

TEST(Trace, APrefillStepAtADepth) {
  Model model;
  const StepTrace trace = trace_step(model.engine, traced(16, 24));
  EXPECT_EQ(trace.tokens, 24);
  EXPECT_DOUBLE_EQ(trace.cost().flops(), plan_cost(model.engine.prefill_program(24, LogitRows::last).plan(), {16}).flops());
  EXPECT_GT(trace.op_seconds(), 0);
}

TEST(Trace, FoldingKeepsCountsAndSums) {
  Model model;
  const StepTrace trace = trace_step(model.engine, traced(0));
  const std::vector<TraceGroup> groups = fold(trace);
  int64_t count = 0;
  double seconds = 0, bytes = 0;
  for (const TraceGroup& group : groups) {
    EXPECT_EQ(group.count, group.total.layer < 0 ? 1 : 2) << group.total.name;
    count += group.count;
    seconds += group.total.seconds;
    bytes += group.total.cost.bytes();
  }
  EXPECT_LT(groups.size(), trace.ops.size());
  EXPECT_EQ(count, static_cast<int64_t>(trace.ops.size()));
  EXPECT_NEAR(seconds, trace.op_seconds(), 1e-12);
  EXPECT_DOUBLE_EQ(bytes, trace.cost().bytes());
}

// A CPU that reads and writes 1 GB/s at every size and computes 1 TFLOP/s in FP32.
Machine slow_memory() {
  Machine machine;
  machine.device.id.kind = DeviceKind::cpu;
  machine.figures.push_back({"dram.read", {{"bytes", 1e6}}, "cold", "B/s", {1e9}, ""});
  machine.figures.push_back({"dram.write", {{"bytes", 1e6}}, "cold", "B/s", {1e9}, ""});
  machine.figures.push_back({"math.fp32.simd", {}, "burst", "FLOP/s", {1e12}, ""});
  return machine;
}

TEST(Trace, FloorsAreOfEachOpAndOfTheStep) {
  Model model;
  StepTrace trace = trace_step(model.engine, traced(20));
  EXPECT_FALSE(trace.floor);
  EXPECT_FALSE(trace.op_floor());
  add_floors(trace, slow_memory());
  for (const TracedOp& op : trace.ops) EXPECT_NEAR(op.floor->seconds, op.cost.bytes() / 1e9, 1e-15) << op.name;
  EXPECT_NEAR(trace.floor->seconds, trace.cost().bytes() / 1e9, 1e-12);
  EXPECT_NEAR(trace.op_floor()->seconds, trace.floor->seconds, 1e-12);
  double folded = 0;
  for (const TraceGroup& group : fold(trace)) folded += group.total.floor->seconds;
  EXPECT_NEAR(folded, trace.floor->seconds, 1e-12);
  add_floors(trace, Machine());  // one that knows nothing
  EXPECT_FALSE(trace.floor);
}

TEST(Trace, TheStepPicksThePointOnTheCurve) {
  Model model;
  StepTrace trace = trace_step(model.engine, traced(0));
  const double bytes = trace.cost().bytes();
  Machine machine = slow_memory();
  machine.figures.push_back({"dram.read", {{"bytes", 1}}, "cold", "B/s", {1}, ""});  // what an op alone would get
  machine.figures[0].at[0].second = machine.figures[1].at[0].second = bytes;
  add_floors(trace, machine);
  EXPECT_NEAR(trace.ops[0].floor->seconds, trace.ops[0].cost.bytes() / 1e9, 1e-15);
}

TEST(Bench, TheFloorIsOfOneStep) {
  BenchResult result;
  result.test = {BenchKind::decode, 10, 0};
  result.cost.bytes_read = 5e9;
  result.cost.work = work_on(MathUnit::bf16, 1e12);
  add_floor(result, slow_memory());
  EXPECT_NEAR(result.floor->memory_seconds, 0.5, 1e-12);
  EXPECT_NEAR(result.floor->math_seconds, 0.1, 1e-12);
  add_floor(result, Machine());
  EXPECT_FALSE(result.floor);
}

TEST(Trace, TracingChangesNothingOfWhatTheEngineComputes) {
  Model model, fresh;
  trace_step(model.engine, traced(10));
  trace_step(model.engine, traced(0, 9));
  const std::vector<int32_t> prompt = {1, 2, 3};
  EXPECT_EQ(model.engine.prefill(0, prompt), fresh.engine.prefill(0, prompt));
}

TEST(Trace, WhatDoesNotFitIsRefused) {
  Model model({.context = 32, .chunk = 16});
  test::expect_input_error([&] { trace_step(model.engine, traced(0, 20)); }, {"20 tokens", "chunk of 16"});
  test::expect_input_error([&] { trace_step(model.engine, traced(32)); }, {"context of 32"});
}

}  // namespace
}  // namespace rafter
