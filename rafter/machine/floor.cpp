#include "rafter/machine/floor.h"

#include <algorithm>
#include <cmath>

namespace rafter {

namespace {

// Seconds for `bytes` at a roof; 0 for none of them, nullopt where there is no such roof.
std::optional<double> transfer(const Machine& machine, const char* level, const char* direction, double bytes, double set) {
  if (bytes <= 0) return 0.0;
  const std::string name = std::string(level) + '.' + direction;
  const std::string_view state = std::string_view(level) == "dram" ? "cold" : "warm";
  const auto roof = machine.bandwidth(name, set, state);
  if (!roof || !(*roof > 0)) return {};
  return bytes / *roof;
}

// The last level before DRAM: L2 on a GPU; on a CPU L3 where it has one.
const char* last_cache(const Machine& machine) {
  return machine.device.id.kind == DeviceKind::cpu && machine.find("l3.read") != nullptr ? "l3" : "l2";
}

}  // namespace

std::string_view name(FloorLimit limit) { return limit == FloorLimit::memory ? "memory" : "math"; }

std::optional<double> Floor::fraction_of(double measured_seconds) const {
  if (!(measured_seconds > 0) || !std::isfinite(measured_seconds)) return {};
  return seconds / measured_seconds;
}

std::optional<Floor> floor(const Cost& cost, const Machine& machine, const FloorContext& context) {
  const double set = context.working_set_bytes > 0 ? context.working_set_bytes : cost.bytes();
  const char* level = context.in_cache ? last_cache(machine) : "dram";
  const auto read = transfer(machine, level, "read", cost.bytes_read, set);
  const auto written = transfer(machine, level, "write", cost.bytes_written, set);
  if (!read || !written) return {};
  Floor result;
  result.memory_seconds = *read + *written;
  for (int unit = 0; unit < kMathUnitCount; ++unit) {
    const double flops = cost.flops(static_cast<MathUnit>(unit));
    if (flops <= 0) continue;
    const auto rate = machine.rate(static_cast<MathUnit>(unit));
    if (!rate || !(*rate > 0)) return {};
    result.math_seconds += flops / *rate;
  }
  result.seconds = std::max(result.memory_seconds, result.math_seconds);
  return result;
}

}  // namespace rafter
