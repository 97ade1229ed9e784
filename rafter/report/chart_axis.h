// The range of an axis, what can be drawn on it, and its numbers as text: what both kinds of chart share.
#pragma once

#include <string>

#include "rafter/report/chart.h"

namespace rafter {

bool drawable(double value, Scale scale);

// The least range that holds what was added, with room around it.
class AxisRange {
 public:
  explicit AxisRange(Scale scale) : scale_(scale) {}
  void add(double value);  // one that cannot be drawn is passed over
  double low() const;
  double high() const;

 private:
  Scale scale_;
  bool empty_ = true;
  double low_ = 1, high_ = 1;
};

Json axis_json(const Axis& axis, const AxisRange& range);

// "4.48 TB/s", "64.0 KiB", "128"; "-" for what is no number.
std::string axis_text(double value, const std::string& unit);

}  // namespace rafter
