#include "rafter/measure/trace_parts.h"

#include <algorithm>

namespace rafter {

StepParts parts_of(const StepTrace& trace) {
  StepParts parts;
  parts.seconds = trace.step_seconds;
  if (trace.floor) parts.floor_seconds = trace.floor->seconds;
  for (const TracedOp& op : trace.ops) {
    const auto same = [&](const KernelClass& c) { return c.name == op.name; };
    auto found = std::find_if(parts.classes.begin(), parts.classes.end(), same);
    if (found == parts.classes.end()) {
      parts.classes.push_back({op.name, 0, op.floor ? std::optional(0.0) : std::nullopt});
      found = std::prev(parts.classes.end());
    }
    found->own_seconds += op.seconds;
    if (!op.floor) found->floor_seconds.reset();
    if (found->floor_seconds) *found->floor_seconds += op.floor->seconds;
  }
  const bool eager = trace.executors.empty() || trace.executors.front().executor == ExecutorKind::eager;
  parts.gaps[static_cast<size_t>(eager ? GapCause::unknown : GapCause::ramp)] = trace.op_gap_seconds();
  parts.host_seconds = trace.recorded.between_seconds;
  if (trace.is_recorded()) parts.recorder_seconds = trace.recorded.seconds - trace.step_seconds;
  return parts;
}

Waterfall step_waterfall(const StepTrace& trace) { return waterfall(parts_of(trace), trace.ops.size()); }

}  // namespace rafter
