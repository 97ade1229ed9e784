// The time of a step is taken apart, and the parts add up to it.
#include "rafter/measure/recording/step_profile.h"

#include <gtest/gtest.h>

#include "tests/measure/recording/made_up_recording.h"

namespace rafter {
namespace {

constexpr double kNs = 1e-9;

StepProfile profile(const MadeUpRecording& recording, const StepChoice& choice = {}) {
  StepFinder finder(choice);
  recording.tell(finder);
  WindowEvents events(finder.find());
  recording.tell(events);
  events.finish();
  return profile_steps(events);
}

double sum_of(const StepProfile& p) { return p.own_seconds() + total(p.gaps()) + p.host_seconds; }

const ProfiledLaunch& named(const StepProfile& p, const std::string& name) {
  for (const ProfiledLaunch& kernel : p.kernels) {
    if (kernel.name == name) return kernel;
  }
  ADD_FAILURE() << name << " is not there";
  return p.kernels.front();
}

// A step of 1000 ns: norm 0 to 100; matmul 110 to 410, launched long before; join 400 to 500, early; argmax 600 to 700, whose
// call returned at 580; then the host until the next call, at 900 to 950.
void add_step(MadeUpRecording& r, int64_t t, bool calls = true) {
  const auto launch = [&](const std::string& name, int64_t start, int64_t end, int64_t call_start, int64_t call_end) {
    r.now = t + start;
    const uint32_t correlation = r.kernel(name, end - start).correlation;
    if (calls) r.host(RecordedKind::api, "cudaLaunchKernel_v7000", t + call_start, t + call_end, 1, correlation);
  };
  launch("norm", 0, 100, -100, -50);
  launch("matmul", 110, 410, -50, 0);
  launch("join", 400, 500, 0, 50);
  launch("argmax", 600, 700, 550, 580);
}

MadeUpRecording ten_steps(bool calls = true) {
  MadeUpRecording r;
  for (int step = 0; step < 10; ++step) add_step(r, 5000 + 1000 * step, calls);
  return r;
}

TEST(StepProfile, PartsAddUpToTheStep) {
  const StepProfile p = profile(ten_steps());
  EXPECT_EQ(p.steps, 9);
  EXPECT_NEAR(p.seconds, 1000 * kNs, 1e-15);
  EXPECT_NEAR(sum_of(p), p.seconds, 1e-15);
  EXPECT_NEAR(p.host_seconds, 300 * kNs, 1e-15);
  ASSERT_TRUE(p.before_call_seconds);
  EXPECT_NEAR(*p.before_call_seconds, 200 * kNs, 1e-15);
  ASSERT_EQ(p.places.size(), 4u);
  EXPECT_EQ(p.places[1].name, "matmul");
  EXPECT_NEAR(p.places[2].own_seconds, 90 * kNs, 1e-15);
  EXPECT_NEAR(p.places[2].hidden_seconds, 10 * kNs, 1e-15);
  EXPECT_EQ(p.kernels.front().name, "matmul");
}

TEST(StepProfile, AGapIsTheLaunchsWhereTheCallCameLate) {
  const StepProfile p = profile(ten_steps());
  const Gaps gaps = p.gaps();
  EXPECT_NEAR(gaps[static_cast<size_t>(GapCause::launch)], 100 * kNs, 1e-15);
  EXPECT_NEAR(gaps[static_cast<size_t>(GapCause::ramp)], 10 * kNs, 1e-15);
  ASSERT_TRUE(named(p, "argmax").latency_seconds);
  EXPECT_NEAR(*named(p, "argmax").latency_seconds, 20 * kNs, 1e-15);
  EXPECT_FALSE(named(p, "matmul").latency_seconds) << "it was queued";
}

TEST(StepProfile, CallsAreCountedByNameWithoutTheirVersion) {
  const StepProfile p = profile(ten_steps());
  ASSERT_EQ(p.calls.size(), 1u);
  EXPECT_EQ(p.calls[0].name, "cudaLaunchKernel");
  EXPECT_NEAR(p.calls[0].calls, 4, 1e-9);
  EXPECT_NEAR(p.calls[0].seconds, 180 * kNs, 1e-15);
}

TEST(StepProfile, WithoutCallsGapsHaveNoCauseAndItSaysSo) {
  const StepProfile p = profile(ten_steps(false));
  EXPECT_NEAR(p.gaps()[static_cast<size_t>(GapCause::unknown)], 110 * kNs, 1e-15);
  EXPECT_FALSE(p.before_call_seconds);
  EXPECT_NEAR(sum_of(p), p.seconds, 1e-15);
  ASSERT_EQ(p.remarks.size(), 1u);
  EXPECT_NE(p.remarks[0].find("calls were not recorded"), std::string::npos);
}

TEST(StepProfile, LaterNodesOfAGraphLaunchWaitForNoCall) {
  MadeUpRecording r;
  for (int step = 0; step < 6; ++step) {
    const int64_t t = 5000 + 1000 * step;
    for (uint32_t node = 0; node < 4; ++node) {
      r.now = t + node * 100;
      RecordedEvent& event = r.kernel("node", 80);
      event.graph_node = node + 1;
      event.correlation = 1000 + static_cast<uint32_t>(step);
    }
    r.host(RecordedKind::api, "cudaGraphLaunch", t - 50, t + 250, 1, 1000 + static_cast<uint32_t>(step));
  }
  const StepProfile p = profile(r);
  EXPECT_NEAR(p.gaps()[static_cast<size_t>(GapCause::ramp)], 60 * kNs, 1e-15);
  EXPECT_EQ(p.gaps()[static_cast<size_t>(GapCause::launch)], 0);
}

TEST(StepProfile, StreamsShareTheTime) {
  MadeUpRecording r;
  for (int step = 0; step < 8; ++step) {
    const int64_t t = 5000 + 1000 * step;
    r.now = t;
    r.kernel("long", 600);
    r.now = t + 100;
    r.kernel("side", 200, 9);
    r.now = t + 650 + step % 2;  // it may come first or last
    r.kernel("end", 100, 9);
    r.now = t + 651;
    r.kernel("finish", 200);
  }
  const StepProfile p = profile(r);
  EXPECT_EQ(p.streams, 2);
  EXPECT_NEAR(named(p, "side").own_seconds, 0, 1e-15);
  EXPECT_NEAR(named(p, "side").hidden_seconds, 200 * kNs, 1e-15);
  EXPECT_EQ(p.places.size(), 4u) << "order between streams is no difference";
  EXPECT_NEAR(sum_of(p), p.seconds, 1e-15);
}

TEST(StepProfile, StepsThatDifferAreGroupedByName) {
  MadeUpRecording r;
  uint32_t random = 7;
  for (int step = 0; step < 40; ++step) {
    r.kernel("first");
    for (uint32_t i = 0; i <= random >> 30; ++i) r.kernel((random >> (20 + i)) % 2 == 0 ? "even" : "odd");
    random = random * 1664525 + 1013904223;
    r.wait();
  }
  const StepProfile p = profile(r);
  EXPECT_TRUE(p.places.empty());
  EXPECT_NEAR(named(p, "first").launches, 1, 1e-9);
  EXPECT_NEAR(sum_of(p), p.seconds, 1e-15);
}

TEST(StepProfile, TheWholeRecordingIsAStepWithoutAHost) {
  MadeUpRecording r;
  r.kernel("a");
  r.copy(1, 4096);
  r.kernel("b");
  const StepProfile p = profile(r);
  EXPECT_EQ(p.steps, 1);
  EXPECT_EQ(p.host_seconds, 0);
  EXPECT_NEAR(sum_of(p), 270 * kNs, 1e-15);
  EXPECT_EQ(named(p, "copy host to device").sample.bytes, 4096);
}

TEST(StepProfile, NothingIsNothing) { EXPECT_EQ(profile(MadeUpRecording{}).steps, 0); }

}  // namespace
}  // namespace rafter
