#include "rafter/report/chart.h"

#include <gtest/gtest.h>

#include <limits>

#include "rafter/report/chart_axis.h"

namespace rafter {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

RooflineChart small_roofline() {
  RooflineChart chart{"roofs", {{"DRAM", 4e12}, {"L2", 1e13, false}}, {{"BF16", 8e14}, {"FP32", 6e13}}, {}};
  chart.points = {{"gemm<128>", "gemm", 300, 5e14, 2e-3, "matmul", {"tensor pipe"}}, {"copy", "copy", 0, 0, 1e-3, "copy"}};
  return chart;
}

Json roof(const Json& chart, const std::string& name) {
  for (const Json& r : chart["roofs"]) {
    if (r["name"] == name) return r;
  }
  return nullptr;
}

void expect_at(const Json& point, double x, double y) {
  EXPECT_NEAR(point[0].get<double>() / x, 1, 1e-9) << point;
  EXPECT_NEAR(point[1].get<double>() / y, 1, 1e-9) << point;
}

double low(const Json& axis) { return axis["min"].get<double>(); }
double high(const Json& axis) { return axis["max"].get<double>(); }

// The slope of 4 TB/s meets 800 TFLOP/s at 200 FLOP/B; 60 TFLOP/s begins where 10 TB/s reaches it, at 6.
TEST(Roofline, RoofsMeetAtTheirRidges) {
  const Json chart = chart_json(small_roofline());
  expect_at(roof(chart, "DRAM")["to"], 200, 8e14);
  expect_at(roof(chart, "L2")["to"], 80, 8e14);
  expect_at(roof(chart, "BF16")["from"], 80, 8e14);
  expect_at(roof(chart, "FP32")["from"], 6, 6e13);
  EXPECT_EQ(roof(chart, "FP32")["to"][0], chart["x"]["max"]);
  const Json from = roof(chart, "DRAM")["from"];
  EXPECT_NEAR(from[1].get<double>() / from[0].get<double>(), 4e12, 1);
  EXPECT_EQ(roof(chart, "L2")["measured"], false);
}

TEST(Roofline, ThePictureHoldsPointsAndRidges) {
  const Json chart = chart_json(small_roofline());
  EXPECT_LT(low(chart["x"]), 6);
  EXPECT_GT(high(chart["x"]), 300);
  EXPECT_LT(low(chart["y"]), 6e13);
  EXPECT_GT(high(chart["y"]), 8e14);
}

// 50 GB/s meets 800 TFLOP/s at 16000 FLOP/B: 50 times to the right of the only point.
TEST(Roofline, ARidgeFarFromAllPointsDoesNotShrinkThem) {
  RooflineChart chart = small_roofline();
  chart.memory.push_back({"link", 5e10});
  const Json drawn = chart_json(chart);
  EXPECT_LT(high(drawn["x"]), 16000);
  EXPECT_LE(roof(drawn, "link")["to"][0].get<double>(), high(drawn["x"]));
  chart.points.clear();
  EXPECT_GT(high(chart_json(chart)["x"]), 16000);
}

TEST(Roofline, LeavesOutWhatHasNoPlaceAndCountsIt) {
  const Json chart = chart_json(small_roofline());
  EXPECT_EQ(chart["points"].size(), 1u);
  EXPECT_EQ(chart["left_out"], 1);
  EXPECT_EQ(chart["points"][0]["name"], "gemm<128>");
  EXPECT_EQ(chart["points"][0]["seconds"], 2e-3);
}

TEST(Roofline, RoofsOfNoRateAreNotDrawn) {
  RooflineChart chart{"", {{"none", 0}, {"NaN", kNaN}, {"infinite", kInf}}, {{"negative", -1}}, {}};
  const Json drawn = chart_json(chart);
  EXPECT_TRUE(drawn["roofs"].empty());
  EXPECT_GT(low(drawn["x"]), 0);
  EXPECT_GT(high(drawn["x"]), low(drawn["x"]));
}

TEST(Roofline, TablesHoldEveryNumber) {
  const auto tables = chart_tables(small_roofline());
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].table.csv(),
            "roof,rate,source\nDRAM,4.00 TB/s,measured\nL2,10.0 TB/s,datasheet\nBF16,800 TFLOP/s,measured\nFP32,60.0 "
            "TFLOP/s,measured\n");
  EXPECT_EQ(tables[1].table.csv(),
            "name,kind,FLOP/B,rate,time,remarks\ngemm<128>,matmul,300,500 TFLOP/s,2.00 ms,tensor pipe\ncopy,copy,0,0.00 "
            "FLOP/s,1.00 ms,\n");
}

LineChart small_line() {
  LineChart chart{"latency", {"working set", "B"}, {"latency", "s"}, {}};
  chart.curves = {{"warm", {{1024, 20e-9, 1e-9}, {4096, 40e-9}, {0, 1e-9}, {2048, kNaN}, {kInf, 1}}}, {"none", {}}};
  chart.vertical = {{65536, "L1"}, {-1, "no place"}};
  return chart;
}

TEST(LineChart, DrawsWhatItCanAndCountsTheRest) {
  const Json chart = chart_json(small_line());
  ASSERT_EQ(chart["curves"].size(), 2u);
  EXPECT_EQ(chart["curves"][0]["points"], Json::parse("[[1024.0, 2e-8, 1e-9], [4096.0, 4e-8, null]]"));
  EXPECT_EQ(chart["left_out"], 3);
  ASSERT_EQ(chart["vertical"].size(), 1u);
  EXPECT_LT(low(chart["x"]), 1024);
  EXPECT_GT(high(chart["x"]), 65536) << "a mark is inside the picture";
}

TEST(LineChart, ALinearAxisTakesZeroAndStartsThere) {
  LineChart chart = small_line();
  chart.x.scale = chart.y.scale = Scale::linear;
  const Json drawn = chart_json(chart);
  EXPECT_EQ(drawn["left_out"], 2);
  EXPECT_EQ(low(drawn["y"]), 0);
  EXPECT_GT(high(drawn["y"]), 40e-9);
}

TEST(LineChart, ASpreadDownToZeroDoesNotStretchALogarithmicAxis) {
  LineChart chart{"", {"", ""}, {"", ""}, {{"", {{1, 1, 1.9999}, {2, 1, kInf}, {3, 1, -5}}}}};
  EXPECT_GT(low(chart_json(chart)["y"]), 0.2);
}

TEST(LineChart, TablesSayDashForNoNumber) {
  const auto tables = chart_tables(small_line());
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(
      tables[0].table.csv(),
      "curve,working set,latency,spread (IQR)\nwarm,1.00 KiB,20.0 ns,1.00 ns\nwarm,4.00 KiB,40.0 ns,-\nwarm,0.00 B,1.00 ns,-\n"
      "warm,2.00 KiB,-,-\nwarm,-,1.00 s,-\n");
}

TEST(Waterfall, BarsBeginWhereTheLastEndedAndTotalsAtZero) {
  const WaterfallChart chart{"sum", "s", {{"a", 3, "x"}, {"b", -1, "y"}, {"none", kNaN, "y"}, {"all", 2, "z", {}, true}}};
  const Json drawn = chart_json(chart);
  ASSERT_EQ(drawn["points"].size(), 3u);
  EXPECT_EQ(drawn["points"][1]["from"], 3.0);
  EXPECT_EQ(drawn["points"][1]["to"], 2.0);
  EXPECT_EQ(drawn["points"][2]["from"], 0.0);
  EXPECT_EQ(drawn["rows"], Json::parse(R"(["a", "b", "all"])"));
  EXPECT_EQ(drawn["left_out"], 1);
  EXPECT_EQ(low(drawn["x"]), 0);
  EXPECT_EQ(chart_tables(chart)[0].table.rows(), 4u);
}

TEST(Timeline, FewSpansAreDrawnAsTheyAre) {
  TimelineChart chart{"t", {"one", "two"}, {{0, 0, 1, "a", "x"}, {1, 0.5, 2, "b", "y"}, {2, 0, 1, "no lane", "x"}}};
  const Json drawn = chart_json(chart);
  EXPECT_EQ(drawn["points"].size(), 2u);
  EXPECT_EQ(drawn["points"][1]["row"], 1);
  EXPECT_EQ(drawn["left_out"], 1);
  EXPECT_EQ(chart_summary(chart), "Timeline of 2 launches in 2 lanes.");
}

TEST(Timeline, ManyShortSpansAreDrawnTogetherAndLongOnesStayApart) {
  TimelineChart chart{"t", {"lane"}, {}};
  double now = 0;
  for (int i = 0; i < 30000; ++i) {
    const double seconds = i == 15000 ? 0.1 : 1e-6;
    chart.spans.push_back({0, now, now + seconds, i == 15000 ? "long" : "short", i % 3 == 0 ? "x" : "y"});
    now += seconds + 1e-7;
  }
  const Json drawn = chart_json(chart);
  EXPECT_LE(drawn["points"].size(), TimelineChart::kMostSpans);
  bool found = false;
  double end = 0;
  for (const Json& p : drawn["points"]) {
    found = found || p["name"] == "long";
    EXPECT_GE(p["from"].get<double>(), end);
    end = p["to"];
  }
  EXPECT_TRUE(found);
  EXPECT_NEAR(end, now - 1e-7, 1e-9);
}

TEST(Summary, CountsWhatIsDrawn) {
  EXPECT_EQ(chart_summary(small_line()), "Line chart of latency over working set: 2 points in 2 curves, 2 marks.");
  EXPECT_EQ(chart_summary(small_roofline()),
            "Roofline: 1 point under 2 memory and 2 compute roofs, FLOP/s over FLOP per byte.");
}

TEST(AxisRange, AlwaysHasAWidthThatIsANumber) {
  for (const Scale scale : {Scale::log, Scale::linear}) {
    for (const double value : {kNaN, kInf, -kInf, 0.0, 1.0, -7.0, 5e-324, 1e-50, 1e59, -1e59, 1e308}) {
      AxisRange range(scale);
      range.add(value);
      EXPECT_LT(range.low(), range.high()) << value;
      EXPECT_TRUE(std::isfinite(range.low()) && std::isfinite(range.high())) << value;
      EXPECT_TRUE(scale == Scale::linear || range.low() > 0) << value;
    }
  }
}

TEST(AxisText, FollowsTheUnit) {
  EXPECT_EQ(axis_text(65536, "B"), "64.0 KiB");
  EXPECT_EQ(axis_text(4.48e12, "B/s"), "4.48 TB/s");
  EXPECT_EQ(axis_text(128, ""), "128");
  EXPECT_EQ(axis_text(kInf, "s"), "-");
  EXPECT_EQ(axis_text(1e300, "B"), "1e+300 B");
}

}  // namespace
}  // namespace rafter
