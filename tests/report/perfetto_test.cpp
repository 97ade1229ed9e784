// A trace for Perfetto, parsed back: valid JSON, tracks on which nothing overlaps, arrows with both ends.
#include "rafter/report/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "rafter/base/json_value.h"
#include "tests/measure/recording/made_up_recording.h"

namespace rafter {
namespace {

Json trace_of(const MadeUpRecording& recording, const KnownWork& work = {}) {
  StepFinder finder;
  recording.tell(finder);
  WindowEvents events(finder.find());
  recording.tell(events);
  events.finish();
  std::ostringstream out;
  RecordingNote note;
  note.process = 4711;
  note.command = "python \"train.py\"";
  note.device = "NVIDIA H200";
  write_perfetto(out, events, explain(profile_steps(events), work), note);
  return Json::parse(out.str());
}

std::vector<Json> of_phase(const Json& trace, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

std::map<int, std::string> track_names(const Json& trace) {
  std::map<int, std::string> names;
  for (const Json& event : of_phase(trace, "M")) {
    if (event["name"] == "thread_name") names[event["tid"].get<int>()] = event["args"]["name"];
  }
  return names;
}

// What Perfetto asks of slices on one track: apart or nested, none of negative length.
void expect_well_formed(const Json& trace) {
  std::map<int, std::vector<double>> open;
  auto slices = of_phase(trace, "X");
  std::stable_sort(slices.begin(), slices.end(), [](const Json& a, const Json& b) { return a["ts"] < b["ts"]; });
  for (const Json& slice : slices) {
    const double start = slice["ts"], end = start + slice["dur"].get<double>();
    EXPECT_GE(start, 0);
    EXPECT_GE(end, start);
    auto& ends = open[slice["tid"].get<int>()];
    while (!ends.empty() && ends.back() <= start + 1e-6) ends.pop_back();
    EXPECT_TRUE(ends.empty() || end <= ends.back() + 1e-6) << slice;
    ends.push_back(end);
  }
}

MadeUpRecording with_overlap() {
  MadeUpRecording r;
  for (int step = 0; step < 5; ++step) {
    const int64_t t = 5000 + 1000 * step;
    r.now = t;
    const uint32_t correlation = r.kernel("first\x01\x1b\"\\\n\xff", 123).correlation;
    r.host(RecordedKind::api, "cudaLaunchKernel", t - 200, t - 100, 1, correlation);
    r.host(RecordedKind::api, "cuLaunchKernel", t - 180, t - 120, 1, correlation);
    r.now = t + 100;
    r.kernel("early", 200);
    r.host(RecordedKind::range, "forward", t - 250, t - 50);
  }
  return r;
}

TEST(Perfetto, ParsesBackAndNothingOverlaps) {
  const Json trace = trace_of(with_overlap());
  expect_well_formed(trace);
  std::vector<std::string> names;
  for (const auto& [id, name] : track_names(trace)) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"steps", "stream 7", "stream 7, overlapping 1", "thread 1: calls", "thread 1: ranges"}));
}

TEST(Perfetto, TimesAreMicrosecondsToTheNanosecond) {
  const Json trace = trace_of(with_overlap());
  for (const Json& slice : of_phase(trace, "X")) {
    if (slice["cat"] != "kernel") continue;
    EXPECT_NEAR(slice["dur"].get<double>(), slice["name"] == "early" ? 0.2 : 0.123, 1e-9);
  }
}

TEST(Perfetto, AnArrowHasBothEndsAndOnePerCall) {
  const Json trace = trace_of(with_overlap());
  const auto from = of_phase(trace, "s"), to = of_phase(trace, "f");
  ASSERT_EQ(from.size(), to.size());
  ASSERT_GE(from.size(), 4u);
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i]["id"], to[i]["id"]);
    EXPECT_LT(from[i]["ts"].get<double>(), to[i]["ts"].get<double>());
  }
}

TEST(Perfetto, KernelsTellTheirShapeAndFloor) {
  KnownWork work;
  work["early"].floor_seconds = 50e-9;
  for (const Json& slice : of_phase(trace_of(with_overlap(), work), "X")) {
    if (slice["name"] != "early") continue;
    EXPECT_EQ(slice["args"]["block"], Json::parse("[128,1,1]"));
    EXPECT_EQ(slice["args"]["floor_ns"], 50);
    EXPECT_EQ(slice["args"]["hidden_ns"], 23);
    EXPECT_EQ(slice["args"]["own_ns"], 177);
  }
}

TEST(Perfetto, NothingIsAValidTrace) {
  const Json trace = trace_of(MadeUpRecording{});
  EXPECT_TRUE(of_phase(trace, "X").empty());
}

}  // namespace
}  // namespace rafter
