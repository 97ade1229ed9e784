// A chart of curves: its ranges, its data for the page, and its numbers as a table.
#include <fmt/format.h>

#include "rafter/report/chart.h"
#include "rafter/report/chart_axis.h"

namespace rafter {

namespace {

bool drawn(const LineChart& chart, const CurvePoint& p) { return drawable(p.x, chart.x.scale) && drawable(p.y, chart.y.scale); }

int64_t points_of(const LineChart& chart, bool wanted) {
  int64_t count = 0;
  for (const Curve& curve : chart.curves) {
    for (const CurvePoint& p : curve.points) count += drawn(chart, p) == wanted ? 1 : 0;
  }
  return count;
}

struct Ranges {
  AxisRange x, y;
};

Ranges ranges_of(const LineChart& chart) {
  Ranges range{AxisRange(chart.x.scale), AxisRange(chart.y.scale)};
  for (const Curve& curve : chart.curves) {
    for (const CurvePoint& p : curve.points) {
      if (!drawn(chart, p)) continue;
      range.x.add(p.x);
      range.y.add(p.y);
      const double half = p.spread.value_or(0) / 2;
      range.y.add(p.y + half);
      if (p.y - half > p.y / 4) range.y.add(p.y - half);  // a bar that reaches 0 would take all of a logarithmic axis
    }
  }
  for (const Mark& mark : chart.vertical) range.x.add(mark.at);
  for (const Mark& mark : chart.horizontal) range.y.add(mark.at);
  return range;
}

Json marks_json(const std::vector<Mark>& marks, const Axis& axis) {
  Json list = Json::array();
  for (const Mark& mark : marks) {
    if (drawable(mark.at, axis.scale)) list.push_back({{"at", mark.at}, {"label", mark.label}});
  }
  return list;
}

std::string titled(const Axis& axis) { return axis.title.empty() ? axis.unit : axis.title; }

void add_marks(Table& table, const std::vector<Mark>& marks, const Axis& axis) {
  for (const Mark& mark : marks) table.add({mark.label, titled(axis), axis_text(mark.at, axis.unit)});
}

}  // namespace

Json chart_json(const LineChart& chart) {
  Json curves = Json::array();
  for (const Curve& curve : chart.curves) {
    Json points = Json::array();
    for (const CurvePoint& p : curve.points) {
      if (drawn(chart, p)) points.push_back({p.x, p.y, number_or_null(p.spread.value_or(NAN))});
    }
    curves.push_back({{"name", curve.name}, {"points", std::move(points)}});
  }
  const Ranges range = ranges_of(chart);
  return {{"schema", "rafter.chart/1"},
          {"kind", "line"},
          {"title", chart.title},
          {"x", axis_json(chart.x, range.x)},
          {"y", axis_json(chart.y, range.y)},
          {"columns", {"x", "y", "spread"}},
          {"curves", std::move(curves)},
          {"vertical", marks_json(chart.vertical, chart.x)},
          {"horizontal", marks_json(chart.horizontal, chart.y)},
          {"left_out", points_of(chart, false)}};
}

std::string chart_summary(const LineChart& chart) {
  const int64_t count = points_of(chart, true);
  std::string text = fmt::format("Line chart of {} over {}: {} point{} in {} curve{}", titled(chart.y), titled(chart.x), count,
                                 count == 1 ? "" : "s", chart.curves.size(), chart.curves.size() == 1 ? "" : "s");
  const size_t marks = chart.vertical.size() + chart.horizontal.size();
  if (marks > 0) text += fmt::format(", {} mark{}", marks, marks == 1 ? "" : "s");
  return text + ".";
}

std::vector<CaptionedTable> chart_tables(const LineChart& chart) {
  Table points({{"curve"}, {titled(chart.x), Align::right}, {titled(chart.y), Align::right}, {"spread (IQR)", Align::right}});
  for (const Curve& curve : chart.curves) {
    for (const CurvePoint& p : curve.points) {
      points.add({curve.name, axis_text(p.x, chart.x.unit), axis_text(p.y, chart.y.unit),
                  p.spread ? axis_text(*p.spread, chart.y.unit) : "-"});
    }
  }
  Table marks({{"mark"}, {"axis"}, {"at", Align::right}});
  add_marks(marks, chart.vertical, chart.x);
  add_marks(marks, chart.horizontal, chart.y);
  std::vector<CaptionedTable> tables;
  if (points.rows() > 0) tables.push_back({"Points", std::move(points)});
  if (marks.rows() > 0) tables.push_back({"Marks", std::move(marks)});
  return tables;
}

}  // namespace rafter
