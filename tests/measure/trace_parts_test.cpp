// Ops of a traced step become classes of its waterfall.
#include "rafter/measure/trace_parts.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

TracedOp op(const char* name, double seconds, double gap, std::optional<double> floor) {
  TracedOp o;
  o.name = name;
  o.seconds = seconds;
  o.gap_seconds = gap;
  if (floor) {
    o.floor.emplace();
    o.floor->seconds = *floor;
  }
  return o;
}

TEST(TraceParts, LayersOfAnOpAreOneClassAndAllAddsUp) {
  StepTrace trace;
  trace.step_seconds = 100;
  trace.ops = {op("norm", 5, 1, 4), op("matmul", 40, 2, 35), op("norm", 6, 1, 4), op("sample", 20, 3, std::nullopt)};
  trace.recorded.between_seconds = 20;
  trace.executors = {{ExecutorKind::graph, 100, 0}};
  const StepParts parts = parts_of(trace);
  ASSERT_EQ(parts.classes.size(), 3u);
  EXPECT_EQ(parts.classes[0].own_seconds, 11);
  EXPECT_EQ(parts.classes[0].floor_seconds, 8);
  EXPECT_FALSE(parts.classes[2].floor_seconds);
  EXPECT_EQ(parts.gaps[static_cast<size_t>(GapCause::ramp)], 7);
  EXPECT_NEAR(waterfall(parts).unexplained(), 2, 1e-9);
}

TEST(TraceParts, WhatTheRecorderAddsIsTakenOffByName) {
  StepTrace trace;
  trace.step_seconds = 100;
  trace.ops = {op("matmul", 90, 2, 80)};
  trace.recorded.ops.resize(1);
  trace.recorded.between_seconds = 11;
  trace.recorded.seconds = 103;
  const Waterfall fall = waterfall(parts_of(trace));
  EXPECT_NEAR(fall.unexplained(), 0, 1e-9);
  const Bar& recorder = fall.bars[fall.bars.size() - 2];
  EXPECT_EQ(recorder.kind, BarKind::recorder);
  EXPECT_NEAR(recorder.seconds, -3, 1e-9);
}

}  // namespace
}  // namespace rafter
