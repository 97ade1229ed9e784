#include "rafter/measure/recording/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rafter {

namespace {

constexpr double kExplained = 0.01;
constexpr double kRounding = 1e-12;  // of the step: what adding up doubles leaves

class Builder {
 public:
  explicit Builder(double step_seconds) : smallest_(kRounding * step_seconds) {}

  void add(BarKind kind, const std::string& name, double seconds, bool always = false) {
    if (std::fabs(seconds) <= smallest_ && !always) return;
    fall_.bars.push_back({kind, name, seconds, at_});
    at_ += seconds;
  }

  // The largest first; beyond `most` one bar for all.
  void add_classes(BarKind kind, std::vector<Bar> bars, size_t most, const char* others) {
    std::stable_sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.seconds > b.seconds; });
    if (bars.size() == most + 1) ++most;  // a bar for one other would be no shorter
    for (size_t i = 0; i < std::min(most, bars.size()); ++i) add(kind, bars[i].name, bars[i].seconds);
    double rest = 0;
    for (size_t i = most; i < bars.size(); ++i) rest += bars[i].seconds;
    if (bars.size() > most) add(kind, fmt::format(fmt::runtime(others), bars.size() - most), rest);
  }

  Waterfall finish(double seconds) {
    const double left = seconds - at_;
    add(BarKind::unexplained, "unexplained", std::fabs(left) <= smallest_ ? 0 : left, true);
    fall_.seconds = seconds;
    return std::move(fall_);
  }

 private:
  double smallest_;
  Waterfall fall_;
  double at_ = 0;
};

}  // namespace

const char* name(BarKind kind) {
  static constexpr std::array kNames = {"floor",    "one at a time", "beyond its floor", "floor unknown",
                                        "idle GPU", "idle GPU",      "not in the step",  "unexplained"};
  return kNames[static_cast<size_t>(kind)];
}

bool Waterfall::adds_up() const { return std::fabs(unexplained()) <= kExplained * seconds; }

Waterfall waterfall(const StepParts& parts, size_t most) {
  double floors = 0;
  std::vector<Bar> losses, unknown;
  for (const KernelClass& c : parts.classes) {
    if (c.floor_seconds) {
      floors += *c.floor_seconds;
      losses.push_back({BarKind::kernels, c.name, c.own_seconds - *c.floor_seconds, 0});
    } else {
      unknown.push_back({BarKind::unknown_kernels, c.name, c.own_seconds, 0});
    }
  }
  Builder fall(parts.seconds);
  if (parts.floor_seconds) {
    fall.add(BarKind::floor, "floor of the step", *parts.floor_seconds);
    fall.add(BarKind::in_turn, "memory and maths one at a time", floors - *parts.floor_seconds);
  } else {
    fall.add(BarKind::floor, "floors of the kernels", floors);
  }
  fall.add_classes(BarKind::kernels, std::move(losses), most, "{} other kernels beyond their floors");
  fall.add_classes(BarKind::unknown_kernels, std::move(unknown), most, "{} other kernels of unknown floor");
  fall.add(BarKind::gap, "gaps: late launches", parts.gaps[static_cast<size_t>(GapCause::launch)]);
  fall.add(BarKind::gap, "gaps: dependency and ramp", parts.gaps[static_cast<size_t>(GapCause::ramp)]);
  fall.add(BarKind::gap, "gaps of unknown cause", parts.gaps[static_cast<size_t>(GapCause::unknown)]);
  fall.add(BarKind::host, "host between steps", parts.host_seconds);
  fall.add(BarKind::recorder, "less what the recorder adds", -parts.recorder_seconds);
  return fall.finish(parts.seconds);
}

}  // namespace rafter
