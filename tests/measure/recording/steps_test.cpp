// The step of a process is found in made-up recordings of every shape that real ones have.
#include "rafter/measure/recording/steps.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/measure/recording/made_up_recording.h"
#include "tests/support/errors.h"
#include "tests/support/sanitized.h"

namespace rafter {
using test::expect_input_error;

namespace {

StepWindow find(const MadeUpRecording& recording, const StepChoice& choice = {}) {
  StepFinder finder(choice);
  recording.tell(finder);
  return finder.find();
}

void decode(MadeUpRecording& r, int layers, int32_t attention_grid = 8) {
  r.kernel("embed");
  for (int layer = 0; layer < layers; ++layer) {
    r.kernel("norm");
    r.kernel("matmul", 300, 7, 64);
    r.kernel("attention", 200, 7, attention_grid);
    r.kernel("matmul", 500, 7, 32);
  }
  r.kernel("lm_head", 900);
  r.kernel("argmax");
}

TEST(Steps, LayersWithinAStepAreNotTheStep) {
  MadeUpRecording r;
  for (int step = 0; step < 12; ++step) decode(r, 28);
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps[0].activities, 28 * 4 + 3) << window.how;
  EXPECT_EQ(window.found, 11) << "the last has no next one";
  EXPECT_EQ(window.steps[0].start_ns, 1000);
  EXPECT_EQ(window.steps[0].end_ns, window.steps[1].start_ns);
  EXPECT_FALSE(window.whole);
}

TEST(Steps, AStepBeginsAfterTheHostsWait) {
  MadeUpRecording r;
  r.kernel("weights", 5000);
  for (int token = 0; token < 20; ++token) {
    decode(r, 4);
    r.copy(2, 4);
    r.wait();
    r.now += 300;
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps[0].activities, 20) << window.how;
  EXPECT_NE(window.how.find("waited"), std::string::npos) << window.how;
  EXPECT_EQ(window.steps[1].start_ns - window.steps[0].start_ns, window.steps[0].end_ns - window.steps[0].start_ns);
}

// Five requests alike, each a prefill and 40 tokens: without waits the request would be the longest that repeats.
TEST(Steps, ATokenIsTheStepWhereRequestsRepeatToo) {
  MadeUpRecording r;
  for (int request = 0; request < 5; ++request) {
    for (int i = 0; i < 17; ++i) r.kernel("prefill_" + std::to_string(i), 4000, 7, 512);
    r.wait();
    for (int token = 0; token < 40; ++token) {
      decode(r, 6);
      r.wait();
    }
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 6 * 4 + 3) << window.how;
  EXPECT_EQ(window.found, 200 - 1);
}

TEST(Steps, APrefillBeforeTheDecodeStepsIsLeftOut) {
  MadeUpRecording r;
  decode(r, 28, 4096);  // of the same names
  for (int token = 0; token < 30; ++token) decode(r, 28);
  const StepWindow window = find(r);
  EXPECT_EQ(window.found, 29) << window.how;
  EXPECT_EQ(window.steps.front().activities, 28 * 4 + 3);
}

TEST(Steps, OddKernelsBetweenStepsAreLeftOut) {
  MadeUpRecording r;
  for (int token = 0; token < 60; ++token) {
    if (token % 7 == 3 || token % 11 == 5) r.kernel("odd_" + std::to_string(token % 3));
    decode(r, 12);
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 12 * 4 + 3) << window.how;
  EXPECT_GE(window.found, 58);
  for (const Step& step : window.steps) EXPECT_LT(step.end_ns - step.start_ns, 60000);
}

// A benchmark waits after each of its few runs, and the steps within one are graphs that run on without a wait.
TEST(Steps, AFewRunsOfManyGraphsAreNotTheStep) {
  MadeUpRecording r;
  for (int run = 0; run < 5; ++run) {
    r.copy(1, 4);
    if (run == 4) break;
    for (uint32_t token = 0; token < 16; ++token) {
      for (int node = 0; node < 6; ++node) {
        RecordedEvent& event = r.kernel("node_" + std::to_string(node));
        event.graph_node = static_cast<uint64_t>(node) + 1;
        event.correlation = 1000 + static_cast<uint32_t>(run) * 16 + token;
      }
    }
    r.wait();
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 6) << window.how;
}

// A compiler times its candidates first, a wait after each, for longer than the steps take.
TEST(Steps, TimingOfCandidatesBeforeTheStepsIsNotTheStep) {
  MadeUpRecording r;
  for (int candidate = 0; candidate < 120; ++candidate) {
    for (int i = 0; i < 20; ++i) {
      r.kernel("fill", 3000);
      r.kernel("candidate_" + std::to_string(i), 9000);
    }
    r.wait();
  }
  for (int token = 0; token < 22; ++token) decode(r, 28);
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 28 * 4 + 3) << window.how;
}

TEST(Steps, GridsThatGrowWithTheContextDoNotMatter) {
  MadeUpRecording r;
  for (int token = 0; token < 30; ++token) decode(r, 8, 8 + token);
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 8 * 4 + 3) << window.how;
  EXPECT_NE(window.how.find("names"), std::string::npos) << window.how;
}

TEST(Steps, StepsOfDifferentLengthsLieBetweenWaits) {
  MadeUpRecording r;
  for (int step = 0; step < 40; ++step) {
    r.kernel("first");
    for (int i = 0; i < 3 + (step * step) % 7; ++i) r.kernel("expert_" + std::to_string((i * 5 + step * 3) % 8));
    r.kernel("last");
    r.wait();
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.found, 38) << window.how;
  EXPECT_NE(window.how.find("between two waits"), std::string::npos) << window.how;
}

TEST(Steps, AGraphLaunchBeginsAStep) {
  MadeUpRecording r;
  for (int step = 0; step < 10; ++step) {
    r.kernel("sample");
    const uint32_t correlation = r.kernel("node_0").correlation;
    r.events.back().graph_node = 1;
    for (uint64_t node = 1; node < 9; ++node) {
      RecordedEvent& event = r.kernel(node % 2 == 0 ? "a" : "b");
      event.graph_node = node + 1;
      event.correlation = correlation;
    }
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 10) << window.how;
  EXPECT_EQ(window.steps.front().start_ns, 1110) << window.how;
  EXPECT_NE(window.how.find("graph"), std::string::npos) << window.how;
}

TEST(Steps, TheBusierOfTwoStreamsHasTheSteps) {
  MadeUpRecording r;
  for (int step = 0; step < 20; ++step) {
    decode(r, 3);
    const int64_t now = r.now;
    for (int i = 0; i <= step % 4; ++i) r.kernel("side", 20, 9);
    r.now = now;
  }
  const StepWindow window = find(r);
  EXPECT_EQ(window.stream, 7u);
  EXPECT_EQ(window.found, 19) << window.how;
  EXPECT_EQ(window.steps.front().activities, 15);
}

TEST(Steps, OneKernelMayBeAStep) {
  MadeUpRecording r;
  for (int i = 0; i < 50; ++i) r.kernel("saxpy");
  const StepWindow window = find(r);
  EXPECT_EQ(window.steps.front().activities, 1);
  EXPECT_EQ(window.found, 49);
}

TEST(Steps, WhereNothingRepeatsTheRecordingIsOneStepAndSaysSo) {
  MadeUpRecording r;
  for (int i = 0; i < 30; ++i) r.kernel("k" + std::to_string(i));
  const StepWindow window = find(r);
  EXPECT_TRUE(window.whole);
  ASSERT_EQ(window.steps.size(), 1u);
  EXPECT_EQ(window.steps[0].activities, 30);
  EXPECT_NE(window.how.find("whole recording"), std::string::npos);
}

TEST(Steps, NothingTimedIsNoStep) {
  MadeUpRecording r;
  r.kernel("k").end_ns = 0;
  r.events.back().start_ns = 0;
  const StepWindow window = find(r);
  EXPECT_TRUE(window.empty());
  EXPECT_EQ(window.untimed, 1);
}

// The host is three steps ahead of the GPU: only the calls tell whose kernels are whose.
TEST(Steps, RangesOwnWhatTheirThreadLaunched) {
  MadeUpRecording r;
  for (int step = 0; step < 6; ++step) {
    r.host(RecordedKind::range, "step", 100 + step * 50, 140 + step * 50);
    for (int i = 0; i < 4; ++i) {
      const uint32_t correlation = r.kernel("k" + std::to_string(step * 7 + i)).correlation;
      r.host(RecordedKind::api, "cudaLaunchKernel", 101 + step * 50 + i * 5, 104 + step * 50 + i * 5, 1, correlation);
    }
  }
  const StepWindow window = find(r, {"step"});
  ASSERT_EQ(window.steps.size(), 6u) << window.how;
  EXPECT_EQ(window.steps[2].activities, 4);
  EXPECT_EQ(window.steps[2].start_ns, 1000 + 8 * 110);
  EXPECT_EQ(window.steps[2].end_ns, window.steps[3].start_ns);
}

TEST(Steps, WithoutCallsARangeOwnsWhatBeganInIt) {
  MadeUpRecording r;
  for (int step = 0; step < 3; ++step) {
    const int64_t start = r.now;
    r.kernel("a" + std::to_string(step));
    r.kernel("b");
    r.host(RecordedKind::range, "step", start, r.now);
    r.kernel("between");
  }
  const StepWindow window = find(r, {"step"});
  ASSERT_EQ(window.steps.size(), 3u);
  EXPECT_EQ(window.steps[0].activities, 2);
}

TEST(Steps, ARangeThatIsNotThereIsAnErrorThatNamesThoseThatAre) {
  MadeUpRecording r;
  r.kernel("a");
  r.host(RecordedKind::range, "forward", 0, 10);
  expect_input_error([&] { find(r, {"step"}); }, {"--range", "'step'", "'forward'"});
}

TEST(Steps, TheUserSkipsAndCounts) {
  MadeUpRecording r;
  for (int step = 0; step < 20; ++step) decode(r, 3);
  const StepWindow window = find(r, {"", 4, 5});
  ASSERT_EQ(window.steps.size(), 5u);
  EXPECT_EQ(window.found, 19);
  EXPECT_EQ(window.steps[0].start_ns, find(r, {"", 0, 19}).steps[4].start_ns);
  expect_input_error([&] { find(r, {"", 19, 1}); }, {"--skip", "19"});
}

TEST(Steps, ThreeMillionKernelsInAMoment) {
  StepFinder finder;
  RecordedEvent event;
  event.device = 0;
  for (int64_t i = 0; i < 3000000; ++i) {
    const int64_t at = i % 300;
    event.name = at == 0 ? 100 : at > 290 ? 101 + static_cast<uint32_t>(at) : static_cast<uint32_t>(at % 10);
    event.start_ns = 1000 + i * 2000;
    event.end_ns = event.start_ns + 1500;
    finder.take(event);
  }
  const auto before = std::chrono::steady_clock::now();
  const StepWindow window = finder.find();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(window.steps.front().activities, 300);
  EXPECT_EQ(window.found, 9999);
  if (!test::kSanitized) {
    EXPECT_LT(took.count(), 3);
  }
  RecordProperty("seconds", std::to_string(took.count()));
}

}  // namespace
}  // namespace rafter
