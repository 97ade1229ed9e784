#include "rafter/report/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/base/units.h"

namespace rafter {

namespace {

constexpr double kMostDrawn = 1e60, kLeastDrawn = 1e-60;  // far beyond any quantity, far within a double
constexpr double kLogRoom = 1.25, kLinearRoom = 0.08;

}  // namespace

bool drawable(double value, Scale scale) {
  if (!std::isfinite(value) || std::fabs(value) > kMostDrawn) return false;
  return scale == Scale::linear || value >= kLeastDrawn;
}

void AxisRange::add(double value) {
  if (!drawable(value, scale_)) return;
  low_ = empty_ ? value : std::min(low_, value);
  high_ = empty_ ? value : std::max(high_, value);
  empty_ = false;
}

// A linear axis of nothing below 0 starts there: heights are then comparable by eye.
double AxisRange::low() const {
  if (scale_ == Scale::log) return low_ / kLogRoom;
  return low_ >= 0 ? 0 : low_ - kLinearRoom * (high_ - low_);
}

double AxisRange::high() const {
  if (scale_ == Scale::log) return high_ * kLogRoom;
  const double room = kLinearRoom * (high_ - std::min(low_, 0.0));
  return high_ + (room > 0 ? room : std::max(1.0, kLinearRoom * std::fabs(high_)));
}

Json axis_json(const Axis& axis, const AxisRange& range) {
  return {{"title", axis.title},
          {"unit", axis.unit},
          {"scale", axis.scale == Scale::log ? "log" : "linear"},
          {"min", number_or_null(range.low())},
          {"max", number_or_null(range.high())}};
}

std::string axis_text(double value, const std::string& unit) {
  if (!std::isfinite(value)) return "-";
  if (std::fabs(value) > 1e18) return fmt::format("{:.3g}{}{}", value, unit.empty() ? "" : " ", unit);
  if (unit.empty()) return fmt::format("{:.6g}", value);
  if (unit == "s") return format_seconds(value);
  if (unit == "B" && value >= 0) return format_capacity(static_cast<int64_t>(std::llround(value)));
  return format_si(value, unit.c_str());
}

}  // namespace rafter
