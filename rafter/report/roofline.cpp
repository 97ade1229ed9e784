#include "rafter/report/roofline.h"

#include <algorithm>

namespace rafter {

namespace {

// The widest that a level has been seen, whatever the size.
Quantity widest(const Machine& machine, std::string_view name, std::string_view state) {
  Quantity best;
  for (const Figure* figure : machine.all(name, state)) best = std::max(best.value_or(0), figure->value.median);
  return best;
}

Quantity total_flops(const KernelRecord& kernel, bool& measured) {
  Quantity sum;
  const auto add = [&](double flops) { sum = sum.value_or(0) + flops; };
  for (const Quantity& flops : {kernel.fp32_flops, kernel.fp64_flops, kernel.fp16_flops}) {
    if (flops) add(*flops);
  }
  for (const auto& [dtype, flops] : kernel.tensor_flops) add(flops);
  measured = sum.has_value();
  return measured ? sum : kernel.needed_flops;
}

Quantity ratio(const Quantity& a, const Quantity& b) { return a && b && *b > 0 ? Quantity(*a / *b) : Quantity(); }

PlacedKernel place(KernelRecord kernel, const KernelRoofs& roofs) {
  PlacedKernel placed;
  placed.bottleneck = judge(kernel, roofs);
  placed.measured_bytes = kernel.dram_bytes().has_value();
  placed.bytes = placed.measured_bytes ? kernel.dram_bytes() : kernel.needed_bytes;
  placed.flops = total_flops(kernel, placed.measured_flops);
  placed.intensity = ratio(placed.flops, placed.bytes);
  placed.flops_per_second = ratio(placed.flops, kernel.seconds);
  placed.bytes_per_second = ratio(placed.bytes, kernel.seconds);
  if (kernel.seconds && placed.bottleneck.roof_seconds) {
    const double at_roof = *placed.bottleneck.roof_seconds * static_cast<double>(kernel.launches);
    placed.gain_seconds = std::max(0.0, *kernel.seconds - at_roof);
  }
  placed.kernel = std::move(kernel);
  return placed;
}

}  // namespace

KernelRoofs kernel_roofs(const Machine& machine) {
  KernelRoofs roofs;
  roofs.dram_bytes_per_second = widest(machine, "dram.read", "cold");
  roofs.l2_bytes_per_second = widest(machine, "l2.read", "warm");
  roofs.fp32_flops_per_second = machine.rate(MathUnit::fp32);
  roofs.fp64_flops_per_second = machine.rate(MathUnit::fp64);
  for (const MathUnit unit : {MathUnit::tf32, MathUnit::f16, MathUnit::bf16, MathUnit::fp8, MathUnit::int8}) {
    if (const auto rate = machine.rate(unit)) roofs.tensor_flops_per_second[std::string(name(unit))] = *rate;
  }
  if (const Figure* pairs = machine.find("math.f16.hfma2", "burst")) roofs.fp16_flops_per_second = pairs->value.median;
  return roofs;
}

std::string label(const KernelRecord& kernel) {
  const bool named_by_op = kernel.op.empty() || kernel.short_name.starts_with(kernel.op);
  return named_by_op ? kernel.short_name : kernel.op + ": " + kernel.short_name;
}

bool by_needs_alone(const Roofline& roofline) {
  const auto& all = roofline.kernels;
  const bool counted = std::any_of(all.begin(), all.end(), [](const auto& k) { return k.measured_bytes || k.measured_flops; });
  return !counted && std::any_of(all.begin(), all.end(), [](const auto& k) { return k.bytes || k.flops; });
}

Roofline place_kernels(Profile profile, std::optional<Machine> machine) {
  const KernelRoofs roofs = machine ? kernel_roofs(*machine) : KernelRoofs{};
  Roofline result;
  for (KernelRecord& kernel : fold(profile.kernels)) result.kernels.push_back(place(std::move(kernel), roofs));
  profile.kernels.clear();
  for (const PlacedKernel& placed : result.kernels) result.seconds += placed.kernel.seconds.value_or(0);
  for (PlacedKernel& placed : result.kernels) {
    if (placed.kernel.seconds && result.seconds > 0) placed.share = *placed.kernel.seconds / result.seconds;
  }
  std::stable_sort(result.kernels.begin(), result.kernels.end(), [](const PlacedKernel& a, const PlacedKernel& b) {
    return a.kernel.seconds.value_or(0) > b.kernel.seconds.value_or(0);
  });
  result.profile = std::move(profile);
  result.machine = std::move(machine);
  return result;
}

}  // namespace rafter
