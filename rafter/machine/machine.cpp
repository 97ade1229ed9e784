#include "rafter/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rafter {

namespace {

std::optional<double> best_in(const std::vector<Figure>& figures, MathUnit unit) {
  const std::string family = fmt::format("math.{}.", name(unit));
  std::optional<double> best;
  for (const Figure& f : figures) {
    if (f.state == "burst" && f.name.starts_with(family) && f.value.median > 0)
      best = std::max(best.value_or(0), f.value.median);
  }
  return best;
}

}  // namespace

std::optional<double> Figure::at_value(std::string_view axis) const {
  for (const auto& [name, value] : at) {
    if (name == axis) return value;
  }
  return {};
}

std::string Figure::key() const {
  std::string text = name;
  for (size_t i = 0; i < at.size(); ++i) text += fmt::format("{}{}={:.10g}", i == 0 ? '[' : ',', at[i].first, at[i].second);
  if (!at.empty()) text += ']';
  return state.empty() ? text : text + ' ' + state;
}

const Figure* Machine::find(std::string_view name, std::string_view state) const {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const Figure& f) { return f.name == name && (state.empty() || f.state == state); });
  return found == figures.end() ? nullptr : &*found;
}

std::vector<const Figure*> Machine::all(std::string_view name, std::string_view state) const {
  std::vector<const Figure*> found;
  for (const Figure& f : figures) {
    if (f.name == name && (state.empty() || f.state == state)) found.push_back(&f);
  }
  return found;
}

std::optional<double> Machine::bandwidth(std::string_view name, double bytes, std::string_view state) const {
  std::vector<std::pair<double, double>> points;  // log bytes, B/s
  for (const Figure* f : all(name, state)) {
    const double size = f->at_value("bytes").value_or(0);
    if (size > 0 && f->value.median > 0) points.emplace_back(std::log(size), f->value.median);
  }
  if (points.empty()) return {};
  std::sort(points.begin(), points.end());
  const double x = std::log(std::max(bytes, 1.0));
  const auto above = std::find_if(points.begin(), points.end(), [&](const auto& point) { return point.first >= x; });
  if (above == points.begin()) return points.front().second;
  if (above == points.end()) return points.back().second;
  const auto below = std::prev(above);
  return std::lerp(below->second, above->second, (x - below->first) / (above->first - below->first));
}

std::optional<double> Machine::rate(MathUnit unit) const {
  const auto own = best_in(figures, unit);
  const bool falls_back = device.id.kind == DeviceKind::cpu && unit != MathUnit::fp32 && unit != MathUnit::fp64;
  return falls_back ? std::max(own, best_in(figures, MathUnit::fp32)) : own;  // nullopt is less than any number
}

}  // namespace rafter
