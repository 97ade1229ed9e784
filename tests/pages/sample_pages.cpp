// Writes pages of every kind into a folder, for tests/pages/page_test.py to open in a browser and for a person to look at:
//   sample_pages FOLDER
//   sample_pages --charts   exit status 0 where this build can draw charts
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "rafter/report/page.h"

namespace rafter {
namespace {

// Numbers from 0 to 1 that look random and are the same in every run.
double scatter(int i) { return std::fmod(std::fabs(std::sin(i * 12.9898) * 43758.5453), 1.0); }

const char* const kKinds[] = {"matmul", "attention", "norm", "elementwise", "reduce", "copy", "embed", "sampling", "other"};

RooflineChart roofline(int points) {
  RooflineChart chart{"Kernels under the roofs", {}, {}, {}};
  chart.memory = {{"L1", 33e12}, {"L2", 9.7e12}, {"DRAM read", 4.48e12}, {"DRAM", 4.8e12, false}, {"PCIe", 55e9}};
  chart.compute = {{"BF16 wgmma", 820e12}, {"BF16 tensor", 989e12, false}, {"FP8 wgmma", 1610e12}, {"TF32 wgmma", 410e12},
                   {"FP16x2", 120e12},     {"FP32 FFMA", 60e12},           {"FP64", 30e12}};
  for (int i = 0; i < points; ++i) {
    const double intensity = std::pow(10.0, -1 + 4 * scatter(i));
    const double roof = std::min(intensity * 4.48e12, 820e12);
    const std::string kind = kKinds[i % 9];
    chart.points.push_back(
        {fmt::format("void cutlass::device_kernel<cutlass::{}::kernel::Universal<cute::tuple<int, int, int, int>, "
                     "cutlass::epilogue::collective::Default<{}>>>(Params)",
                     kind, i),
         fmt::format("{}_{}", kind, i),
         intensity,
         roof * (0.05 + 0.9 * scatter(7 * i + 3)),
         1e-6 * std::pow(10.0, 3 * scatter(3 * i + 1)),
         kind,
         {"DRAM bandwidth: 75% of the measured roof"}});
  }
  return chart;
}

LineChart latency() {
  LineChart chart{"Latency of a load by working set", {"working set", "B"}, {"latency", "s"}, {}};
  for (int c = 0; c < 3; ++c) {
    Curve curve{c == 0 ? "warm" : c == 1 ? "TLB cold" : "far partition", {}};
    for (int i = 0; i < 100; ++i) {
      const double bytes = 1024 * std::pow(2.0, i * 0.22);
      const double step = bytes < 2.2e5 ? 18e-9 : bytes < 5e7 ? 150e-9 : 420e-9;
      curve.points.push_back({bytes, step * (1 + 0.35 * c), i % 10 == 0 ? std::optional(step * 0.2) : std::nullopt});
    }
    chart.curves.push_back(curve);
  }
  chart.vertical = {{262144, "L1, 256 KiB"}, {52428800, "L2, 50 MiB"}, {60e6, "knee at 57 MiB"}};
  chart.horizontal = {{600e-9, "DRAM of the reference, 600 ns"}};
  return chart;
}

LineChart bandwidth() {
  LineChart chart{"Bandwidth by block size", {"threads a block", "", Scale::linear}, {"bandwidth", "B/s", Scale::linear}, {}};
  for (int c = 0; c < 9; ++c) {
    Curve curve{fmt::format("{} loads in flight", c + 1), {}};
    for (int t = 32; t <= 1024; t += 32) curve.points.push_back({double(t), 4.4e12 * (1 - std::exp(-t * (c + 1) / 900.0))});
    chart.curves.push_back(curve);
  }
  chart.horizontal = {{4.48e12, "DRAM roof 4.48 TB/s"}};
  return chart;
}

// A step of `layers`, some of whose kernels begin before those in front of them have ended.
TimelineChart timeline(int layers) {
  TimelineChart chart{"A step in time", {"stream 7", "stream 7, overlapping", "stream 13"}, {}};
  double now = 0;
  const auto span = [&](size_t lane, const char* group, double seconds) {
    chart.spans.push_back({lane,
                           now,
                           now + seconds,
                           fmt::format("void rafter::{}<128, 64>(float const*)", group),
                           group,
                           {"grid 132 x 1 x 1, block 256 x 1 x 1"}});
    now += seconds;
  };
  for (int i = 0; i < layers; ++i) {
    span(0, "norm", 2.1e-6);
    now += 0.4e-6;
    span(0, "matmul", 14e-6 + 2e-6 * scatter(i));
    now -= 1.5e-6;
    span(1, "attention", 7e-6);
    if (i % 4 == 0) chart.spans.push_back({2, now - 5e-6, now - 1e-6, "copy device to host", "copies and fills", {"4.00 B"}});
    now += 0.4e-6;
    span(0, "swiglu", 1.8e-6);
    span(0, "matmul", 21e-6);
    now += 0.3e-6;
    for (const char* small : {"residual", "rope"}) span(0, small, 1.3e-6);
    span(0, "rope", 3.6e-6);
    now += 0.8e-6;
    span(0, "residual", 1.1e-6);
  }
  return chart;
}

WaterfallChart waterfall() {
  return {"The step as a sum",
          "s",
          {{"floor of the step", 905e-6, "floor", {"73.0% of the step"}},
           {"memory and maths one at a time", 12e-6, "one at a time"},
           {"ffn_gate_up", 84e-6, "beyond its floor"},
           {"attention", 61e-6, "beyond its floor"},
           {"lm_head", -14e-6, "beyond its floor"},
           {"void at::native::vectorized_elementwise_kernel<4, add>", 40e-6, "floor unknown"},
           {"gaps: late launches", 22e-6, "idle GPU"},
           {"gaps: dependency and ramp", 71e-6, "idle GPU"},
           {"host between steps", 55e-6, "idle GPU"},
           {"unexplained", 4e-6, "unexplained"},
           {"the step", 1240e-6, "measured", {}, true}}};
}

CaptionedTable sortable() {
  Table table({{"kernel"}, {"launches", Align::right}, {"time", Align::right}});
  table.add({"norm", "57", "30.0 us"});
  table.add({"matmul", "112", "1.20 ms"});
  table.add({"argmax", "1", "2.50 us"});
  table.add({"odd", "1", "unknown"});
  table.add({"fill", "2", "900 ns"});
  return {"Kernels", table};
}

CaptionedTable long_table(int rows) {
  Table table({{"figure"}, {"at", Align::right}, {"value", Align::right}, {"remark"}});
  for (int i = 0; i < rows; ++i)
    table.add({fmt::format("dram.read_{}", i), "1.00 GiB", "4.15 TB/s", i % 7 == 0 ? "throttled once" : ""});
  return {"All figures", table};
}

const std::string kHostile[] = {"<script>document.title='owned'</script>",
                                "</script><img src=x onerror=\"document.title='owned'\">",
                                "\"quoted\" & 'single' `back` ${x}",
                                std::string("nul\0escape\x1b[31m", 14),
                                "line\u2028and\u2029paragraph",
                                "right-to-left \u202e gnp.exe",
                                "not UTF-8: \xff\xfe",
                                "=HYPERLINK(\"http://example.invalid\")",
                                "javascript:alert(1)//" + std::string(3000, 'x'),
                                "<!--<script>"};

Page hostile() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  RooflineChart roofs{
      kHostile[0], {{kHostile[1], 1e12}, {"nothing", 0}, {"infinite", kInf}}, {{kHostile[2], 1e14}, {"NaN", kNaN}}, {}};
  LineChart lines{kHostile[1], {kHostile[2], kHostile[0]},           {kHostile[3], kHostile[1]},
                  {},          {{3, kHostile[0]}, {-1, "left out"}}, {{kInf, "left out"}, {5, kHostile[1]}}};
  WaterfallChart bars{kHostile[0], kHostile[3], {{"NaN", kNaN, "none"}}};
  TimelineChart lanes{kHostile[1], {std::begin(kHostile), std::end(kHostile)}, {{99, 0, 1, "no lane", "none"}}};
  Table table({{kHostile[0]}, {kHostile[1], Align::right}});
  for (const std::string& name : kHostile) {
    roofs.points.push_back({name, name, 1.0 + static_cast<double>(name.size()), 2e12, 1e-3, name, {name}});
    lines.curves.push_back({name, {{1, 2, 0.5}, {10, 20, kNaN}, {0, 1}, {kNaN, 1}, {1e300, 1}}});
    bars.bars.push_back({name, 1 + static_cast<double>(bars.bars.size()), name, {name}});
    lanes.spans.push_back({lanes.spans.size() - 1, 1, 2, name, name, {name}});
    table.add({name, name});
  }
  roofs.points.push_back({"zero time", "zero", 0, 0, kNaN, "none", {}});
  Section section{kHostile[0], {Paragraph{kHostile[1]}, CaptionedTable{kHostile[2], table}, roofs, lines, bars, lanes}};
  return {kHostile[0], kHostile[1], {section}};
}

void write(const std::filesystem::path& path, const Page& page) {
  std::ofstream out(path, std::ios::binary);
  out << html(page);
}

int write_all(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write(folder / "roofline.html",
        {"Roofline of one decode step",
         "NVIDIA H200, measured today",
         {{"Where the time goes",
           {Paragraph{"Each point is a kernel; the roof above it is what this machine can do."}, roofline(200)}},
          {"The figures", {long_table(80)}}}});
  write(folder / "lines.html", {"The memory hierarchy",
                                "NVIDIA H200, measured today",
                                {{"Latency", {latency()}},
                                 {"Bandwidth", {bandwidth()}},
                                 {"Figures", {long_table(12)}},
                                 {"Method", {Paragraph{"One random cycle."}}}}});
  write(folder / "step.html",
        {"One step, kernel by kernel",
         "NVIDIA H200, measured today",
         {{"A step in time", {timeline(28)}}, {"Where its time goes", {waterfall()}}, {"Kernels", {sortable()}}}});
  write(folder / "long_step.html", {"A long step", "", {{"In time", {timeline(3000)}}}});
  write(folder / "hostile.html", hostile());
  write(folder / "empty.html", {"Nothing yet", "", {}});
  write(folder / "empty_charts.html",
        {"No points",
         "",
         {{"Charts of nothing",
           {LineChart{"no curves", {"x", ""}, {"y", "s"}, {}}, RooflineChart{"no roofs", {}, {}, {}},
            RooflineChart{"one memory roof", {{"DRAM", 4e12}}, {}, {}}, WaterfallChart{"no bars", "s", {}},
            TimelineChart{"no lanes", {}, {}}}}}});
  return 0;
}

}  // namespace
}  // namespace rafter

int main(int argc, char** argv) {
  const std::string argument = argc == 2 ? argv[1] : "";
  if (argument == "--charts") return rafter::pages_have_charts() ? 0 : 1;
  if (argument.empty() || argument[0] == '-') {
    fmt::print(stderr, "usage: sample_pages FOLDER | --charts\n");
    return 2;
  }
  return rafter::write_all(argument);
}
