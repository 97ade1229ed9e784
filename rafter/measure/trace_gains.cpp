// Which op of a traced step to work on first, and what keeps it from its roof.
#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/measure/trace.h"

namespace rafter {

namespace {

constexpr double kShort = 4e-6;  // a launch of a graph's node and the first and last loads of a kernel take about as long
constexpr double kNear = 0.9, kFewWarps = 25, kWaste = 1.25;

std::string percent(double fraction) { return fmt::format("{:.0f}%", 100 * fraction); }

// From what was counted where it was, else from the times alone.
std::string why(const TraceGroup& group) {
  const TracedOp& op = group.total;
  const double each = op.seconds / static_cast<double>(group.count), fraction = op.floor->fraction_of(op.seconds).value_or(0);
  const std::string limit = op.floor->limit() == FloorLimit::memory ? "memory" : "the arithmetic";
  if (fraction >= kNear) return fmt::format("at {} of its roof already", percent(fraction));
  if (op.counters) {
    const auto dram = op.counters->dram_bytes();
    if (dram && op.cost.bytes() > 1e6 && *dram > kWaste * op.cost.bytes()) {
      return fmt::format("moves {} where {} would do", format_bytes(*dram), format_bytes(op.cost.bytes()));
    }
  }
  if (each < kShort)
    return fmt::format("{} of {}: about what starting and ending a kernel takes", counted(group.count, "launch"),
                       format_seconds(each));
  if (op.counters && op.counters->occupancy_percent && *op.counters->occupancy_percent < kFewWarps &&
      op.floor->limit() == FloorLimit::memory) {
    return fmt::format("{} of {} use {} of {}: latency, with {:.0f}% of the warps that fit", counted(group.count, "launch"),
                       format_seconds(each), percent(fraction), limit, *op.counters->occupancy_percent);
  }
  return fmt::format("{} of {} use {} of {}", counted(group.count, "launch"), format_seconds(each), percent(fraction), limit);
}

}  // namespace

std::vector<Gain> which_first(const StepTrace& trace) {
  std::vector<Gain> gains;
  for (TraceGroup& group : fold(trace)) {
    if (!group.total.floor) continue;
    const double seconds = group.total.seconds - group.total.floor->seconds;
    std::string reason = why(group);
    gains.push_back({std::move(group), std::max(0.0, seconds), std::move(reason)});
  }
  std::stable_sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) { return a.seconds > b.seconds; });
  return gains;
}

}  // namespace rafter
