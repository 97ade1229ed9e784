// What a report page can draw: curves, kernels under a roofline, a sum as a waterfall, and lanes of spans in time. A chart is
// plain data here; page.js draws it.
//
// Values are in SI base units (s, B, B/s, FLOP/s); axes show them with prefixes. A value that is no number, or has no place on
// a logarithmic axis, is left out of the drawing and counted below it; it stays in the table of the chart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rafter/base/json_value.h"
#include "rafter/report/table.h"

namespace rafter {

enum class Scale : uint8_t { linear, log };

struct Axis {
  std::string title;  // "working set"
  std::string unit;   // "B" counts in powers of 1024 (a size); others in powers of 1000; empty for a plain count
  Scale scale = Scale::log;
};

struct CurvePoint {
  double x = 0, y = 0;
  std::optional<double> spread = {};  // the interquartile range of y: drawn as a bar of that length around the point
};

struct Curve {
  std::string name;
  std::vector<CurvePoint> points;  // in any order
};

// A line across the chart: a knee or a capacity (vertical), a roof (horizontal).
struct Mark {
  double at = 0;
  std::string label;
};

struct LineChart {
  std::string title;
  Axis x, y;
  std::vector<Curve> curves;
  std::vector<Mark> vertical = {}, horizontal = {};
};

struct Roof {
  std::string name;       // "DRAM read", "BF16 wgmma"
  double per_second = 0;  // B/s of a memory level, FLOP/s of a unit
  bool measured = true;   // false: a number of the datasheet, drawn dashed
};

struct RooflinePoint {
  std::string name;        // the whole of it, shown on hover
  std::string short_name;  // beside the point, where there is room
  double flop_per_byte = 0, flop_per_second = 0;
  double seconds = 0;                     // all the time spent in it: the area of the point is its share
  std::string group;                      // the kind; a colour and a shape each
  std::vector<std::string> remarks = {};  // more lines on hover
};

struct RooflineChart {
  std::string title;
  std::vector<Roof> memory, compute;
  std::vector<RooflinePoint> points;
};

// A bar begins where the one before it ended; one below 0 goes back.
struct WaterfallBar {
  std::string name;
  double value = 0;
  std::string group;                      // the kind; a colour each
  std::vector<std::string> remarks = {};  // more lines on hover
  bool from_zero = false;                 // a total, which stands on its own
};

struct WaterfallChart {
  std::string title;
  std::string unit;
  std::vector<WaterfallBar> bars;  // from top to bottom
};

struct TimelineSpan {
  size_t lane = 0;
  double start = 0, end = 0;  // seconds
  std::string name;           // the whole of it, shown on hover
  std::string group;          // a colour each
  std::vector<std::string> remarks = {};
};

// Spans of one lane do not overlap. Those too narrow to be seen are drawn as one, so that there are never more than
// kMostSpans: what belongs together is the chart's business, not the caller's.
struct TimelineChart {
  static constexpr size_t kMostSpans = 2000;
  std::string title;
  std::vector<std::string> lanes;   // from top to bottom
  std::vector<TimelineSpan> spans;  // in the order of their starts
};

// A chart as page.js reads it and as it is saved from the page: schema "rafter.chart/1", points that are drawn only.
Json chart_json(const LineChart& chart);
Json chart_json(const RooflineChart& chart);
Json chart_json(const WaterfallChart& chart);
Json chart_json(const TimelineChart& chart);

// The same in words, for who cannot see it.
std::string chart_summary(const LineChart& chart);
std::string chart_summary(const RooflineChart& chart);
std::string chart_summary(const WaterfallChart& chart);
std::string chart_summary(const TimelineChart& chart);

// Every number of it, whether drawn or not, but for spans that are drawn as one.
struct CaptionedTable {
  std::string caption;
  Table table;
};
std::vector<CaptionedTable> chart_tables(const LineChart& chart);
std::vector<CaptionedTable> chart_tables(const RooflineChart& chart);
std::vector<CaptionedTable> chart_tables(const WaterfallChart& chart);
std::vector<CaptionedTable> chart_tables(const TimelineChart& chart);  // as drawn: spans that are one are one row

}  // namespace rafter
