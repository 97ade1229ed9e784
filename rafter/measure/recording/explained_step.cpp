#include "rafter/measure/recording/explained_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/measure/profiles/kernel_name.h"

namespace rafter {

namespace {

Dim3 wide(const std::array<int32_t, 3>& extents) { return {extents[0], extents[1], extents[2]}; }

// Most of what a profiler would know is missing, and the judgement says which of it would tell.
KernelRecord record_of(const ProfiledLaunch& launch, const KnownWork& work, KernelNames& names) {
  const auto known = work.find(launch.name);
  KernelRecord record = known == work.end() ? KernelRecord{} : known->second;
  names.set(record, launch.name);
  record.launches = std::max<int64_t>(1, std::lround(launch.launches));
  if (launch.own_seconds > 0) record.seconds = launch.own_seconds;  // none: it ran behind others all the time
  record.gap_seconds = total(launch.gaps);
  record.grid = wide(launch.sample.grid);
  record.block = wide(launch.sample.block);
  record.stream = launch.sample.stream;
  record.device = launch.sample.device;
  record.in_graph = launch.sample.graph_node != 0;
  if (launch.sample.registers > 0) record.registers_per_thread = launch.sample.registers;
  return record;
}

ExplainedKernel explain_kernel(const ProfiledLaunch& launch, const KnownWork& work, const KernelRoofs& roofs,
                               KernelNames& names) {
  ExplainedKernel kernel;
  kernel.launch = launch;
  if (launch.sample.kind != RecordedKind::kernel) {
    kernel.short_name = launch.name;
    return kernel;
  }
  const KernelRecord record = record_of(launch, work, names);
  kernel.short_name = record.short_name;
  kernel.bottleneck = judge(record, roofs);
  kernel.floor_seconds = record.floor_seconds;
  if (!kernel.floor_seconds && kernel.bottleneck.roof_seconds) {
    kernel.floor_seconds = *kernel.bottleneck.roof_seconds * static_cast<double>(record.launches);
  }
  if (kernel.floor_seconds) kernel.gain_seconds = std::max(0.0, launch.own_seconds - *kernel.floor_seconds);
  return kernel;
}

}  // namespace

std::optional<double> ExplainedKernel::fraction() const {
  if (!floor_seconds || launch.own_seconds <= 0) return std::nullopt;
  return *floor_seconds / launch.own_seconds;
}

std::string ExplainedKernel::why() const {
  if (bottleneck.limit == Bound::unknown) return "why is not known: its bytes and FLOPs were not counted";
  return fmt::format("{}: {}", name(bottleneck.limit), bottleneck.evidence);
}

std::vector<const ExplainedKernel*> ExplainedStep::which_first() const {
  std::vector<const ExplainedKernel*> order;
  for (const ExplainedKernel& kernel : kernels) {
    if (kernel.launch.sample.kind == RecordedKind::kernel) order.push_back(&kernel);
  }
  std::stable_sort(order.begin(), order.end(), [](const ExplainedKernel* a, const ExplainedKernel* b) {
    return a->gain_seconds.value_or(-1) > b->gain_seconds.value_or(-1);
  });
  return order;
}

ExplainedStep explain(StepProfile profile, const KnownWork& work, const KernelRoofs& roofs, std::optional<double> floor) {
  ExplainedStep step;
  KernelNames names;
  for (const ProfiledLaunch& launch : profile.kernels) {
    step.kernels.push_back(explain_kernel(launch, work, roofs, names));
    const ExplainedKernel& kernel = step.kernels.back();
    step.parts.classes.push_back({kernel.short_name, launch.own_seconds, kernel.floor_seconds});
  }
  step.parts.seconds = profile.seconds;
  step.parts.floor_seconds = floor;
  step.parts.gaps = profile.gaps();
  step.parts.host_seconds = profile.host_seconds;
  step.fall = waterfall(step.parts);
  step.profile = std::move(profile);
  return step;
}

}  // namespace rafter
