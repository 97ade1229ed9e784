#include "rafter/report/machine_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rafter {
namespace {

using nlohmann::json;

Figure figure(std::string name, double bytes, std::string state, std::string unit, double median, double iqr = 0) {
  Figure f;
  f.name = std::move(name);
  if (bytes > 0) f.at = {{"bytes", bytes}};
  f.state = std::move(state);
  f.unit = std::move(unit);
  f.value = {median, iqr, 10, 0, 0, Series::steady};
  return f;
}

Machine machine_of(std::vector<Figure> figures) {
  Machine m;
  m.device.name = "A machine";
  m.device.uuid_hash = "00ff";
  m.figures = std::move(figures);
  return m;
}

TEST(MachineReport, GroupsByKindWithUnitsAndCycles) {
  Machine m =
      machine_of({figure("latency.l1", 24 << 10, "warm", "s", 2e-9), figure("dram.read", 1 << 20, "cold", "B/s", 3.5e12, 7e10),
                  figure("math.int8.simd", 0, "burst", "1/s", 5e11), figure("capacity.l1", 0, "", "B", 49152),
                  figure("odd.thing", 0, "", "1/s", 3)});
  m.figures[0].value.clock_hz = 2.5e9;
  m.figures[0].value.series = Series::bimodal;
  m.figures[0].value.throttled = 3;
  m.figures[0].remark = "look";
  const std::string text = machine_text(m);
  const auto at = [&](const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
    return text.find(part);
  };
  EXPECT_LT(at("Memory bandwidth"), at("dram.read  1.00 MiB  cold   3.50 TB/s  2.0%"));
  EXPECT_LT(at("Latency\n"), at("2.00 ns (5.0 cycles)"));
  at("2.50 GHz  bimodal, 3 samples throttled; look");
  at("500 G/s");
  at("48.0 KiB");
  EXPECT_LT(at("Other\n"), at("odd.thing"));
  EXPECT_EQ(text.find("Links"), std::string::npos);
}

TEST(MachineReport, ALongCurveIsFoldedAndSaysSo) {
  std::vector<Figure> curve;
  for (int i = 0; i < 101; ++i) curve.push_back(figure("latency.chase", 4096 * (i + 1), "warm", "s", 1e-9));
  const std::string text = machine_text(machine_of(curve));
  EXPECT_NE(text.find("5 of 101"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10) << text;
  EXPECT_NE(text.find("4.00 KiB"), std::string::npos) << text;  // both ends
  EXPECT_NE(text.find("404 KiB"), std::string::npos) << text;
}

TEST(MachineReport, AnAbsurdSizeIsPrintedAndNoMore) {
  EXPECT_EQ(value_text(figure("capacity.l1", 0, "", "B", 0), -1), "-1.00 B");
  EXPECT_FALSE(machine_text(machine_of({figure("capacity.l1", 1e300, "", "B", 1e300)})).empty());
}

Change change_of(const Figure& a, const Figure& b) {
  const Machine ma = machine_of({a}), mb = machine_of({b});
  return compare_machines(ma, mb).at(0).change;
}

TEST(MachineCompare, RatesAreFasterWhenHigherAndTimesWhenLower) {
  const auto rate = [](double v) { return figure("dram.read", 0, "", "B/s", v, 0.001 * v); };
  const auto time = [](double v) { return figure("latency.l1", 0, "", "s", v, 0.001 * v); };
  EXPECT_EQ(change_of(rate(100), rate(101.9)), Change::same);
  EXPECT_EQ(change_of(rate(100), rate(103)), Change::faster);
  EXPECT_EQ(change_of(rate(100), rate(97)), Change::slower);
  EXPECT_EQ(change_of(time(100), time(104.5)), Change::same);
  EXPECT_EQ(change_of(time(100), time(106)), Change::slower);
  EXPECT_EQ(change_of(time(100), time(94)), Change::faster);
  EXPECT_EQ(change_of(figure("dram.read", 0, "", "B/s", 100, 30), rate(103)), Change::unclear);
  EXPECT_EQ(change_of(figure("capacity.l1", 0, "", "B", 100), figure("capacity.l1", 0, "", "B", 150)), Change::larger);
  EXPECT_EQ(change_of(rate(100), figure("dram.read", 0, "", "s", 103)), Change::unclear);  // not the same thing
}

TEST(MachineCompare, PairsByKeyAndCountsWhatIsAlone) {
  const Machine a = machine_of({figure("x", 1, "", "B/s", 100), figure("x", 2, "", "B/s", 100), figure("y", 0, "", "s", 0)});
  Machine b = machine_of({figure("x", 2, "", "B/s", 120), figure("x", 3, "", "B/s", 100), figure("y", 0, "", "s", 1)});
  b.device.uuid_hash = "aa00";
  const std::vector<FigurePair> pairs = compare_machines(a, b);
  ASSERT_EQ(pairs.size(), 4u);
  const std::string text = compare_text(a, b, pairs);
  for (const char* part : {"They are different devices.", "+20.0%  faster", "only in A", "only in B",
                           "2 figures in both: 0 same, 1 faster, 0 slower, 1 unclear; 1 only in A, 1 only in B."}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
  const json document = json::parse(compare_json(a, b, pairs));
  EXPECT_EQ(document["schema"], "rafter.machine_compare/1");
  ASSERT_EQ(document["figures"].size(), 4u);
  EXPECT_TRUE(document["figures"][0]["b"].is_null());
  EXPECT_EQ(document["figures"][1]["verdict"], "faster");
  EXPECT_DOUBLE_EQ(document["figures"][1]["ratio"].get<double>(), 1.2);
  EXPECT_TRUE(document["figures"][2]["ratio"].is_null());  // no division by zero
  EXPECT_EQ(document["summary"]["unclear"], 1);
}

}  // namespace
}  // namespace rafter
