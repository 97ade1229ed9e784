// A waterfall: where each of its bars begins and ends, and its numbers as a table.
#include <fmt/format.h>

#include "rafter/report/chart.h"
#include "rafter/report/chart_axis.h"

namespace rafter {

namespace {

bool drawn(const WaterfallBar& bar) { return drawable(bar.value, Scale::linear); }

int64_t left_out(const WaterfallChart& chart) {
  int64_t count = 0;
  for (const WaterfallBar& bar : chart.bars) count += drawn(bar) ? 0 : 1;
  return count;
}

}  // namespace

Json chart_json(const WaterfallChart& chart) {
  AxisRange range(Scale::linear);
  Json rows = Json::array(), points = Json::array();
  double at = 0;
  for (const WaterfallBar& bar : chart.bars) {
    if (!drawn(bar)) continue;
    const double from = bar.from_zero ? 0 : at, to = from + bar.value;
    points.push_back({{"row", rows.size()},
                      {"name", bar.name},
                      {"group", bar.group},
                      {"from", from},
                      {"to", to},
                      {"value", bar.value},
                      {"remarks", bar.remarks}});
    rows.push_back(bar.name);
    range.add(from);
    range.add(to);
    if (!bar.from_zero) at = to;
  }
  return {{"schema", "rafter.chart/1"}, {"kind", "waterfall"},
          {"title", chart.title},       {"x", axis_json({"added up", chart.unit, Scale::linear}, range)},
          {"rows", std::move(rows)},    {"points", std::move(points)},
          {"left_out", left_out(chart)}};
}

std::string chart_summary(const WaterfallChart& chart) {
  return fmt::format("Waterfall of {} parts that add up.", static_cast<int64_t>(chart.bars.size()) - left_out(chart));
}

std::vector<CaptionedTable> chart_tables(const WaterfallChart& chart) {
  Table table({{"part"}, {"kind"}, {"amount", Align::right}, {"remarks"}});
  for (const WaterfallBar& bar : chart.bars) {
    std::string remarks;
    for (const std::string& remark : bar.remarks) remarks += (remarks.empty() ? "" : "; ") + remark;
    table.add({bar.name, bar.group, axis_text(bar.value, chart.unit), remarks});
  }
  if (table.rows() == 0) return {};
  return {{"Parts", std::move(table)}};
}

}  // namespace rafter
