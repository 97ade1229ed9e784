// Which op first, and the step as a sum, of a made-up trace.
#include <gtest/gtest.h>

#include "rafter/measure/trace.h"
#include "rafter/measure/trace_parts.h"

namespace rafter {
namespace {

TracedOp op(const char* name, double seconds, double memory_floor) {
  TracedOp made;
  made.name = name;
  made.cost.bytes_read = 1e9 * memory_floor / 1e-3;
  made.seconds = seconds;
  made.floor = Floor{memory_floor, memory_floor, 0};
  return made;
}

StepTrace step() {
  StepTrace trace;
  trace.ops = {op("ffn", 100e-6, 80e-6), op("ffn", 100e-6, 80e-6), op("attention", 60e-6, 1e-6), op("advance", 1e-6, 0)};
  trace.ops[2].gap_seconds = 5e-6;
  trace.recorded.between_seconds = 2e-6;
  trace.recorded.seconds = 268e-6;  // all of the above
  trace.recorded.ops.resize(4);
  trace.step_seconds = 270e-6;
  trace.floor = Floor{161e-6, 161e-6, 0};
  trace.executors = {{ExecutorKind::graph, 270e-6, 0}};
  return trace;
}

TEST(WhichFirst, TheGreatestGainComesFirst) {
  const std::vector<Gain> gains = which_first(step());
  ASSERT_EQ(gains.size(), 3u);
  EXPECT_EQ(gains[0].group.total.name, "attention");
  EXPECT_NEAR(gains[0].seconds, 59e-6, 1e-12);
  EXPECT_NE(gains[0].why.find("1 launch of 60"), std::string::npos) << gains[0].why;
  EXPECT_EQ(gains[1].group.total.name, "ffn");
  EXPECT_NEAR(gains[1].seconds, 40e-6, 1e-12);
  EXPECT_NE(gains[2].why.find("starting and ending"), std::string::npos) << gains[2].why;
}

TEST(WhichFirst, CountedWasteIsNamed) {
  StepTrace trace = step();
  trace.ops[2].counters.emplace();
  trace.ops[2].cost.bytes_read = 2e6;
  trace.ops[2].counters->dram_bytes_read = 6e6;
  trace.ops[2].counters->dram_bytes_written = 0;
  EXPECT_EQ(which_first(trace)[0].why, "moves 6.00 MB where 2.00 MB would do");
}

TEST(WhichFirst, OpsWithoutAFloorAreLeftOut) {
  StepTrace trace = step();
  for (TracedOp& each : trace.ops) each.floor.reset();
  EXPECT_TRUE(which_first(trace).empty());
}

TEST(StepWaterfall, AddsUpToTheMeasuredStep) {
  const Waterfall fall = step_waterfall(step());
  EXPECT_NEAR(fall.seconds, 270e-6, 1e-12);
  double sum = 0;
  for (const Bar& bar : fall.bars) sum += bar.seconds;
  EXPECT_NEAR(sum, 270e-6, 1e-12);
  EXPECT_NEAR(fall.unexplained(), 0, 1e-12);  // the recorder's step was 2 us shorter, which is a bar of its own
  EXPECT_TRUE(fall.adds_up());
}

}  // namespace
}  // namespace rafter
