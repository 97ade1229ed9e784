// A timeline: spans too narrow for the screen are drawn as one, until there are few enough.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rafter/base/units.h"
#include "rafter/report/chart.h"
#include "rafter/report/chart_axis.h"

namespace rafter {

namespace {

constexpr double kPixels = 1500;  // about a page: what is narrower can hardly be seen

bool drawn(const TimelineChart& chart, const TimelineSpan& span) {
  return span.lane < chart.lanes.size() && drawable(span.start, Scale::linear) && drawable(span.end, Scale::linear) &&
         span.end >= span.start;
}

int64_t left_out(const TimelineChart& chart) {
  return std::count_if(chart.spans.begin(), chart.spans.end(), [&](const TimelineSpan& s) { return !drawn(chart, s); });
}

// Several spans as one: from the first start to the last end, of the group that takes most of it.
class Together {
 public:
  explicit Together(const TimelineSpan& span) : span_(span) { count(span); }

  void add(const TimelineSpan& span) {
    span_.end = std::max(span_.end, span.end);
    count(span);
  }
  const TimelineSpan& span() const { return span_; }
  bool fits(const TimelineSpan& next, double width) const {
    return next.start - span_.end < width && next.end - next.start < width && busy_ / static_cast<double>(number_) < width &&
           next.end - span_.start < 8 * width;
  }
  TimelineSpan finish() const {
    if (number_ == 1) return span_;
    TimelineSpan span = span_;
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    span.group = std::max_element(groups_.begin(), groups_.end(), less)->first;
    span.name = fmt::format("{} launches, too short to be drawn apart: busy {:.0f}% of the time", number_,
                            100 * std::min(1.0, busy_ / (span.end - span.start)));
    span.remarks.clear();
    for (const auto& [group, seconds] : groups_)
      span.remarks.push_back(fmt::format("{} of {}", axis_text(seconds, "s"), group));
    return span;
  }

 private:
  void count(const TimelineSpan& span) {
    ++number_;
    busy_ += span.end - span.start;
    groups_[span.group] += span.end - span.start;
  }
  TimelineSpan span_;
  size_t number_ = 0;
  double busy_ = 0;
  std::map<std::string, double> groups_;
};

std::vector<TimelineSpan> joined(const TimelineChart& chart, double width) {
  std::vector<TimelineSpan> out;
  std::vector<std::vector<Together>> lanes(chart.lanes.size());
  for (const TimelineSpan& span : chart.spans) {
    if (!drawn(chart, span)) continue;
    auto& lane = lanes[span.lane];
    if (!lane.empty() && lane.back().fits(span, width)) {
      lane.back().add(span);
    } else {
      lane.emplace_back(span);
    }
  }
  for (const auto& lane : lanes) {
    for (const Together& some : lane) out.push_back(some.finish());
  }
  return out;
}

std::vector<TimelineSpan> few_enough(const TimelineChart& chart) {
  double first = 0, last = 0;
  for (const TimelineSpan& span : chart.spans) {
    if (drawn(chart, span)) first = std::min(first, span.start), last = std::max(last, span.end);
  }
  std::vector<TimelineSpan> spans = joined(chart, 0);
  for (double width = (last - first) / kPixels; spans.size() > TimelineChart::kMostSpans; width *= 2)
    spans = joined(chart, width);
  return spans;
}

}  // namespace

Json chart_json(const TimelineChart& chart) {
  AxisRange range(Scale::linear);
  Json points = Json::array();
  for (const TimelineSpan& span : few_enough(chart)) {
    points.push_back({{"row", span.lane},
                      {"name", span.name},
                      {"group", span.group},
                      {"from", span.start},
                      {"to", span.end},
                      {"remarks", span.remarks}});
    range.add(span.start);
    range.add(span.end);
  }
  return {{"schema", "rafter.chart/1"}, {"kind", "timeline"},
          {"title", chart.title},       {"x", axis_json({"time", "s", Scale::linear}, range)},
          {"rows", chart.lanes},        {"points", std::move(points)},
          {"left_out", left_out(chart)}};
}

std::string chart_summary(const TimelineChart& chart) {
  return fmt::format("Timeline of {} launches in {}.", static_cast<int64_t>(chart.spans.size()) - left_out(chart),
                     counted(static_cast<int64_t>(chart.lanes.size()), "lane"));
}

std::vector<CaptionedTable> chart_tables(const TimelineChart& chart) {
  Table table({{"lane"}, {"launch"}, {"from", Align::right}, {"time", Align::right}, {"remarks"}});
  for (const TimelineSpan& span : few_enough(chart)) {
    std::string remarks;
    for (const std::string& remark : span.remarks) remarks += (remarks.empty() ? "" : "; ") + remark;
    table.add({chart.lanes[span.lane], span.name, axis_text(span.start, "s"), axis_text(span.end - span.start, "s"), remarks});
  }
  if (table.rows() == 0) return {};
  return {{"Launches", std::move(table)}};
}

}  // namespace rafter
