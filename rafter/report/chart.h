// What a report page can draw: curves, and kernels under a roofline. A chart is plain data here; page.js draws it.
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

// A chart as page.js reads it and as it is saved from the page: schema "rafter.chart/1", points that are drawn only.
Json chart_json(const LineChart& chart);
Json chart_json(const RooflineChart& chart);

// The same in words, for who cannot see it.
std::string chart_summary(const LineChart& chart);
std::string chart_summary(const RooflineChart& chart);

// Every number of it, whether drawn or not.
struct CaptionedTable {
  std::string caption;
  Table table;
};
std::vector<CaptionedTable> chart_tables(const LineChart& chart);
std::vector<CaptionedTable> chart_tables(const RooflineChart& chart);

}  // namespace rafter
