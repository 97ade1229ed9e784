// Recorded repeats of a step are joined with its ops by position, and only where the names agree.
#include "rafter/measure/recording/step_join.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

constexpr double kNs = 1e-9;

RecordedEvent kernel(uint32_t name, int64_t start, int64_t end, uint64_t tag = 0) {
  RecordedEvent event;
  event.name = name;
  event.start_ns = start;
  event.end_ns = end;
  event.tag = tag;
  return event;
}

GpuActivities activities(const std::vector<RecordedEvent>& events) {
  GpuActivities out;
  out.take_name(0, "norm");
  out.take_name(1, "split");
  out.take_name(2, "join");
  for (const RecordedEvent& event : events) out.take(event);
  return out;
}

// Two ops: a norm; a matmul of two kernels.
const std::vector<RecordedEvent> kTagged = {kernel(0, 1000, 1010, 1), kernel(1, 1020, 1050, 2), kernel(2, 1060, 1070, 2)};

std::vector<RecordedEvent> repeats(int count) {
  std::vector<RecordedEvent> events;
  for (int64_t t = 5000; count-- > 0; t += 100) {
    events.push_back(kernel(2, t + 60, t + 80));  // records come in no order
    events.push_back(kernel(0, t, t + 20));
    events.push_back(kernel(1, t + 15, t + 55));  // launched early
  }
  return events;
}

TEST(StepJoin, TimesAddUpToTheStep) {
  const RecordedStep step = join_step(activities(kTagged), activities(repeats(9)), 3);
  ASSERT_EQ(step.why_not, "");
  EXPECT_EQ(step.repeats, 8);
  EXPECT_NEAR(step.seconds, 100 * kNs, 1e-15);
  EXPECT_NEAR(step.between_seconds, 20 * kNs, 1e-15);
  ASSERT_EQ(step.ops.size(), 3u);
  EXPECT_EQ(step.ops[1].kernels, (std::vector<std::string>{"split", "join"}));
  EXPECT_NEAR(step.ops[0].own_seconds, 20 * kNs, 1e-15);
  EXPECT_NEAR(step.ops[1].own_seconds, (35 + 20) * kNs, 1e-15);
  EXPECT_NEAR(step.ops[1].hidden_seconds, 5 * kNs, 1e-15);
  EXPECT_NEAR(step.ops[1].gap_seconds, 5 * kNs, 1e-15);
  EXPECT_TRUE(step.ops[2].kernels.empty());  // an op that launches nothing
  ASSERT_EQ(step.example.size(), 3u);
  EXPECT_EQ(step.example[1].op, 1u);
  EXPECT_EQ(step.example[1].kernel, "split");
  EXPECT_NEAR(step.example[1].start_seconds, 15 * kNs, 1e-15);
  double sum = step.between_seconds;
  for (const RecordedOp& op : step.ops) sum += op.own_seconds + op.gap_seconds;
  EXPECT_NEAR(sum, step.seconds, 1e-15);
}

TEST(StepJoin, OneSlowRepeatOfManyDoesNotCount) {
  std::vector<RecordedEvent> events = repeats(9);
  for (RecordedEvent& event : events) {
    if (event.start_ns >= 5800) event.start_ns += 5000, event.end_ns += 5000;
  }
  EXPECT_NEAR(join_step(activities(kTagged), activities(events), 2).seconds, 100 * kNs, 1e-15);
}

TEST(StepJoin, OtherKernelsThanTheStepsAreNotGuessedAt) {
  std::vector<RecordedEvent> events = repeats(4);
  events[3].name = 1;
  EXPECT_NE(join_step(activities(kTagged), activities(events), 2).why_not.find("'split'; the step has 'join'"),
            std::string::npos);
  events = repeats(4);
  events.pop_back();
  EXPECT_NE(join_step(activities(kTagged), activities(events), 2).why_not.find("11 activities"), std::string::npos);
  EXPECT_NE(join_step(activities(kTagged), activities(repeats(1)), 2).why_not, "");
  EXPECT_NE(join_step(activities({}), activities(repeats(4)), 2).why_not, "");
}

TEST(StepJoin, WhatIsNotTimedOrNotOnTheGpuIsNoActivity) {
  RecordedEvent api = kernel(0, 10, 20);
  api.kind = RecordedKind::api;
  const GpuActivities found = activities({api, kernel(0, 0, 0), kernel(1, 5, 6)});
  EXPECT_EQ(found.sorted().size(), 1u);
  EXPECT_EQ(found.untimed(), 1);
}

}  // namespace
}  // namespace rafter
