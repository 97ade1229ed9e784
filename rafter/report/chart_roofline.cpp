// A roofline: where each roof runs, its data for the page, and its numbers as tables.
//
// A kernel of intensity x FLOP/byte can reach min(x * B/s, FLOP/s). Each memory roof is the slope x * B/s, from the left edge
// up to its ridge with the highest compute roof; each compute roof is flat, from its ridge with the fastest memory to the right
// edge.
#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/report/chart.h"
#include "rafter/report/chart_axis.h"

namespace rafter {

namespace {

constexpr double kRoomAround = 4;     // beyond the outermost ridges, so that both sides of a roof are seen
constexpr double kReach = 10;         // how far beyond the points a ridge may lie and still be shown
constexpr double kDepth = 300;        // below the lowest compute roof, where no point asks for more
constexpr double kSlopeAlone = 1000;  // FLOP/byte that a memory roof rises to where there is no compute roof

struct Frame {
  std::vector<Roof> memory, compute;  // those that can be drawn
  double fastest = 0, highest = 0;    // of them; 0 where there is none
  AxisRange x{Scale::log}, y{Scale::log};
};

bool drawn(const RooflinePoint& p) { return drawable(p.flop_per_byte, Scale::log) && drawable(p.flop_per_second, Scale::log); }

std::vector<Roof> drawn_roofs(const std::vector<Roof>& roofs) {
  std::vector<Roof> some;
  std::copy_if(roofs.begin(), roofs.end(), std::back_inserter(some),
               [](const Roof& r) { return drawable(r.per_second, Scale::log); });
  return some;
}

double highest(const std::vector<Roof>& roofs) {
  double most = 0;
  for (const Roof& roof : roofs) most = std::max(most, roof.per_second);
  return most;
}

// The ridges are the corners of the picture, but one far from every point (that of a slow link) would shrink all the rest.
void add_ridges(Frame& f, bool all) {
  const double low = f.x.low() / kReach, high = f.x.high() * kReach;
  for (const Roof& m : f.memory) {
    for (const Roof& c : f.compute) {
      const double ridge = c.per_second / m.per_second;
      if (!all && m.per_second < f.fastest && (ridge < low || ridge > high)) continue;
      f.x.add(ridge / kRoomAround);
      f.x.add(ridge * kRoomAround);
    }
    if (f.compute.empty()) {
      f.x.add(1);
      f.x.add(kSlopeAlone);
      f.y.add(m.per_second);
      f.y.add(m.per_second * kSlopeAlone);
    }
  }
}

Frame frame_of(const RooflineChart& chart) {
  Frame f;
  f.memory = drawn_roofs(chart.memory);
  f.compute = drawn_roofs(chart.compute);
  f.fastest = highest(f.memory);
  f.highest = highest(f.compute);
  for (const RooflinePoint& p : chart.points) {
    if (!drawn(p)) continue;
    f.x.add(p.flop_per_byte);
    f.y.add(p.flop_per_second);
  }
  add_ridges(f, chart.points.empty());
  for (const Roof& c : f.compute) {
    f.y.add(c.per_second / kDepth);
    f.y.add(c.per_second * 1.6);  // room for its label
  }
  return f;
}

Json roof_json(const Roof& roof, const char* kind, const char* unit, double x0, double y0, double x1, double y1) {
  return {{"name", roof.name}, {"kind", kind},  {"per_second", roof.per_second}, {"unit", unit}, {"measured", roof.measured},
          {"from", {x0, y0}},  {"to", {x1, y1}}};
}

Json roofs_json(const Frame& f) {
  Json list = Json::array();
  for (const Roof& m : f.memory) {
    const double from = std::max(f.x.low(), f.y.low() / m.per_second);
    const double edge = std::min(f.x.high(), f.y.high() / m.per_second);
    const double to = f.highest > 0 ? std::min(edge, f.highest / m.per_second) : edge;
    list.push_back(roof_json(m, "memory", "B/s", std::min(from, to), std::min(from, to) * m.per_second, to, to * m.per_second));
  }
  for (const Roof& c : f.compute) {
    const double from = f.fastest > 0 ? c.per_second / f.fastest : f.x.low();
    list.push_back(roof_json(c, "compute", "FLOP/s", from, c.per_second, f.x.high(), c.per_second));
  }
  return list;
}

int64_t points_of(const RooflineChart& chart, bool wanted) {
  return std::count_if(chart.points.begin(), chart.points.end(), [&](const RooflinePoint& p) { return drawn(p) == wanted; });
}

void add_roofs(Table& table, const std::vector<Roof>& roofs, const char* unit) {
  for (const Roof& roof : roofs)
    table.add({roof.name, axis_text(roof.per_second, unit), roof.measured ? "measured" : "datasheet"});
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

}  // namespace

Json chart_json(const RooflineChart& chart) {
  Json points = Json::array();
  for (const RooflinePoint& p : chart.points) {
    if (!drawn(p)) continue;
    points.push_back({{"name", p.name},
                      {"short_name", p.short_name},
                      {"group", p.group},
                      {"flop_per_byte", p.flop_per_byte},
                      {"flop_per_s", p.flop_per_second},
                      {"seconds", number_or_null(p.seconds)},
                      {"remarks", p.remarks}});
  }
  const Frame frame = frame_of(chart);
  return {{"schema", "rafter.chart/1"},
          {"kind", "roofline"},
          {"title", chart.title},
          {"x", axis_json({"arithmetic intensity", "FLOP/B"}, frame.x)},
          {"y", axis_json({"rate", "FLOP/s"}, frame.y)},
          {"roofs", roofs_json(frame)},
          {"points", std::move(points)},
          {"left_out", points_of(chart, false)}};
}

std::string chart_summary(const RooflineChart& chart) {
  const int64_t count = points_of(chart, true);
  return fmt::format("Roofline: {} point{} under {} memory and {} compute roofs, FLOP/s over FLOP per byte.", count,
                     count == 1 ? "" : "s", chart.memory.size(), chart.compute.size());
}

std::vector<CaptionedTable> chart_tables(const RooflineChart& chart) {
  Table roofs({{"roof"}, {"rate", Align::right}, {"source"}});
  add_roofs(roofs, chart.memory, "B/s");
  add_roofs(roofs, chart.compute, "FLOP/s");
  Table points({{"name"}, {"kind"}, {"FLOP/B", Align::right}, {"rate", Align::right}, {"time", Align::right}, {"remarks"}});
  for (const RooflinePoint& p : chart.points) {
    points.add({p.name, p.group, axis_text(p.flop_per_byte, ""), axis_text(p.flop_per_second, "FLOP/s"),
                axis_text(p.seconds, "s"), joined(p.remarks)});
  }
  std::vector<CaptionedTable> tables;
  if (roofs.rows() > 0) tables.push_back({"Roofs", std::move(roofs)});
  if (points.rows() > 0) tables.push_back({"Points", std::move(points)});
  return tables;
}

}  // namespace rafter
