// A recorded step as text, JSON and a page: every number is there, and what is not known is said.
#include "rafter/report/recording_report.h"

#include <gtest/gtest.h>

#include "rafter/base/json_value.h"
#include "tests/measure/recording/made_up_recording.h"

namespace rafter {
namespace {

// Tokens of a small model: 4 layers, launched one by one, a copy of the token and a wait.
MadeUpRecording tokens(int count) {
  MadeUpRecording r;
  r.now = 100000;
  for (int token = 0; token < count; ++token) {
    const auto launch = [&](const char* name, int64_t duration, int64_t queued) {
      const int64_t called = r.now - queued;
      const uint32_t correlation = r.kernel(name, duration).correlation;
      r.host(RecordedKind::api, "cudaLaunchKernel_v7000", called - 3000, called, 1, correlation);
    };
    launch("void embed<__nv_bfloat16>(int const*, __nv_bfloat16*)", 2000, 1500);
    for (int layer = 0; layer < 4; ++layer) {
      launch("void norm<float>(float const*, float*)", 2500, 20000);
      launch("void matmul<128, 64>(float const*)", 40000, 30000);
      launch("void attention<64>(float const*)", 12000, 40000);
    }
    r.now += 2000;
    launch("void argmax(float const*)", 5000, 1000);
    r.copy(2, 4, 1500);
    r.wait();
    r.now += 20000;
  }
  return r;
}

struct Read {
  RecordedProcess process;
  WindowEvents events{{}};
};

Read read(const MadeUpRecording& recording) {
  StepFinder finder;
  recording.tell(finder);
  Read r;
  r.process.window = finder.find();
  r.events = WindowEvents(r.process.window);
  recording.tell(r.events);
  r.events.finish();
  KnownWork work;
  work["void matmul<128, 64>(float const*)"].floor_seconds = 4 * 30e-6;
  r.process.step = explain(profile_steps(r.events), work);
  r.process.note.process = 4711;
  r.process.note.command = "python decode.py";
  r.process.note.device = "NVIDIA H200";
  r.process.note.complete = true;
  return r;
}

RecordedProcess process_of(const MadeUpRecording& recording) { return read(recording).process; }

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

TEST(RecordingText, SaysWhatTheStepIsAndWhereItGoes) {
  const std::string text = recording_text(process_of(tokens(20)), 20);
  expect_parts(text, {"Process 4711: python decode.py, on NVIDIA H200", "15 launches in a row repeat", "waited for the GPU",
                      "19 steps found", "matmul", "unknown", "75.0", "gaps: late launches", "host between steps", "unexplained",
                      "Which kernel first:\n  1. matmul: would gain 40.0 us", "copy device to host", "cudaLaunchKernel"});
  EXPECT_EQ(text.find("_v7000"), std::string::npos);
  EXPECT_EQ(text.find("Note:"), std::string::npos);
}

TEST(RecordingText, BarsLineUpAndFillTheStep) {
  const std::string text = recording_text(process_of(tokens(20)), 20);
  std::vector<size_t> edges;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '|') edges.push_back(line.find('|'));
  }
  ASSERT_GT(edges.size(), 5u);
  for (const size_t edge : edges) EXPECT_EQ(edge, edges[0]);
}

TEST(RecordingText, FewKernelsOfMany) {
  expect_parts(recording_text(process_of(tokens(20)), 2), {"4 kernels more: --top 0 shows all"});
}

TEST(RecordingText, WhatIsMissingIsSaid) {
  RecordedProcess process = process_of(tokens(20));
  process.note.dropped = 3;
  process.note.complete = false;
  expect_parts(recording_text(process, 20), {"lost 3 events", "not closed"});
  RecordedProcess none;
  none.note.process = 12;
  none.note.fault = "another profiler holds the GPU";
  none.note.complete = true;
  expect_parts(recording_text(none, 20), {"Process 12", "Nothing was recorded: another profiler holds the GPU"});
}

TEST(RecordingJson, HoldsEveryPartAndTheyAddUp) {
  const Json json = Json::parse(recording_json(process_of(tokens(20)), "rafter trace -- python decode.py"));
  EXPECT_EQ(json["schema"], "rafter.step/1");
  EXPECT_EQ(json["step"]["samples"], 19);
  double sum = 0;
  for (const Json& bar : json["waterfall"]) sum += bar["time_s"].get<double>();
  EXPECT_NEAR(sum, json["step"]["time_s"].get<double>(), 1e-12);
  EXPECT_EQ(json["launches"].size(), 15u);
  EXPECT_EQ(json["kernels"].size(), 6u);
  EXPECT_EQ(json["kernels"][0]["short_name"], "matmul");
  EXPECT_NEAR(json["kernels"][0]["fraction"].get<double>(), 0.75, 1e-9);
  EXPECT_TRUE(json["kernels"][1]["floor_s"].is_null());
}

TEST(RecordingJson, NothingIsNullAndEmpty) {
  const Json json = Json::parse(recording_json(RecordedProcess{}, ""));
  EXPECT_TRUE(json["step"].is_null());
  EXPECT_TRUE(json["kernels"].empty());
}

TEST(RecordingPage, HasTimelineWaterfallAndTables) {
  const Read r = read(tokens(20));
  const std::string page = html(recording_page(r.process, r.events));
  expect_parts(page,
               {"python decode.py, on NVIDIA H200", "Step 10 of the 19 measured", "The step as a sum", "Which first, and why",
                "cudaLaunchKernel", "rafter.chart/1", "void matmul&lt;128, 64&gt;(float const*)"});
  EXPECT_EQ(page.find("What is missing"), std::string::npos);
}

TEST(RecordingPage, NothingIsOneSentence) {
  RecordedProcess none;
  none.note.fault = "no GPU";
  expect_parts(html(recording_page(none, WindowEvents{{}})), {"No step", "no GPU"});
}

}  // namespace
}  // namespace rafter
