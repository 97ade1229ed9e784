#include "rafter/report/figure_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/machine/datasheet.h"
#include "rafter/report/machine_report.h"

namespace rafter {

namespace {

constexpr size_t kLineWidth = 110, kMostRows = 40;

// Broken between words.
std::string wrapped(const std::string& text) {
  std::string out;
  size_t column = 0, at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (column > 0 && column + 1 + end - at > kLineWidth) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return out;
}

struct BlockText {
  std::string operator()(const Paragraph& p) const { return wrapped(p.text) + '\n'; }
  std::string operator()(const CaptionedTable& t) const { return t.caption + '\n' + t.table.text(); }
  std::string operator()(const LineChart& c) const { return chart(c); }
  std::string operator()(const RooflineChart& c) const { return chart(c); }
  std::string operator()(const WaterfallChart& c) const { return chart(c); }
  std::string operator()(const TimelineChart& c) const { return chart(c); }

  // A chart of few points is its tables; of many, what it says in a line.
  template <typename Chart>
  static std::string chart(const Chart& c) {
    std::string tables;
    size_t rows = 0;
    for (const CaptionedTable& table : chart_tables(c)) {
      rows += table.table.rows();
      tables += table.caption + '\n' + table.table.text();
    }
    if (rows <= kMostRows) return tables;
    return wrapped(fmt::format("{} The page and the JSON have them all.", chart_summary(c))) + '\n';
  }
};

double widest(const Machine& machine, std::string_view name, std::string_view state) {
  double best = 0;
  for (const Figure* f : machine.all(name, state)) best = std::max(best, f->value.median);
  return best;
}

}  // namespace

Curve figure_curve(const Machine& machine, std::string_view name, std::string_view axis, std::string_view state) {
  Curve curve{std::string(name), {}};
  if (!state.empty()) curve.name += fmt::format(", {}", state);
  for (const Figure* f : machine.all(name, state)) {
    if (const auto x = f->at_value(axis)) curve.points.push_back({*x, f->value.median, f->value.iqr});
  }
  std::sort(curve.points.begin(), curve.points.end(), [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; });
  return curve;
}

Table figure_table(const Machine& machine, std::string_view prefix) {
  Table table({{"figure"}, {"state"}, {"value", Align::right}, {"IQR", Align::right}, {"clock", Align::right}, {"remark"}});
  for (const Figure& f : machine.figures) {
    if (!f.name.starts_with(prefix)) continue;
    std::string name = f.name;
    for (const auto& [axis, value] : f.at) name += fmt::format(" {} {:.6g}", axis, value);
    const Estimate& e = f.value;
    table.add({name, f.state, value_text(f, e.median), e.median > 0 ? fmt::format("{:.1f}%", 100 * e.iqr / e.median) : "-",
               e.clock_hz > 0 ? fmt::format("{:.2f} GHz", e.clock_hz / 1e9) : "-", f.remark});
  }
  return table;
}

std::vector<Mark> capacity_marks(const Machine& machine, std::string_view state) {
  std::vector<Mark> marks;
  for (const Figure& f : machine.figures) {
    if (!f.name.starts_with("capacity.") || f.state != state) continue;
    marks.push_back({f.value.median, fmt::format("{} {}", f.name.substr(9), value_text(f, f.value.median))});
  }
  return marks;
}

RooflineChart roofs_chart(const Machine& machine) {
  RooflineChart chart;
  chart.title = "Roofs of " + machine.device.name;
  const auto memory = [&](const char* title, std::string_view name, std::string_view state) {
    if (const double best = widest(machine, name, state); best > 0) chart.memory.push_back({title, best, true});
  };
  memory("DRAM", "dram.read", "cold");
  memory("L3", "l3.read", "warm");
  memory("L2", "l2.read", "warm");
  memory("L1", "l1.read", "warm");
  for (int unit = 0; unit < kMathUnitCount; ++unit) {
    const auto kind = static_cast<MathUnit>(unit);
    if (machine.device.id.kind == DeviceKind::cpu && kind != MathUnit::fp32 && kind != MathUnit::int8) continue;
    if (const auto rate = machine.rate(kind)) chart.compute.push_back({std::string(name(kind)), *rate, true});
  }
  if (const auto sheet = datasheet(machine.device.name)) {
    chart.memory.push_back({"DRAM, datasheet", sheet->dram_bytes_per_second, false});
    for (const auto& [unit, rate] : sheet->dense_flops_per_second) {
      if (unit == MathUnit::bf16 || unit == MathUnit::fp8 || unit == MathUnit::fp32) {
        chart.compute.push_back({fmt::format("{}, datasheet", name(unit)), rate, false});
      }
    }
  }
  return chart;
}

std::string page_text(const Page& page) {
  std::string text = fmt::format("{}\n{}\n", page.title, page.subtitle);
  for (const Section& section : page.sections) {
    text += fmt::format("\n{}\n{}\n", section.title, std::string(section.title.size(), '-'));
    for (size_t i = 0; i < section.blocks.size(); ++i)
      text += (i == 0 ? "" : "\n") + std::visit(BlockText{}, section.blocks[i]);
  }
  return text;
}

}  // namespace rafter
