#include "rafter/measure/counters.h"

#include <fmt/format.h>

#if defined(RAFTER_WITH_CUDA)
#include "rafter/measure/cuda/range_profiler.h"
#endif

namespace rafter {

std::optional<double> KernelCounters::dram_bytes() const {
  if (!dram_bytes_read || !dram_bytes_written) return std::nullopt;
  return *dram_bytes_read + *dram_bytes_written;
}

KernelCounters together(std::span<const KernelCounters> kernels) {
  using Field = std::optional<double> KernelCounters::*;
  KernelCounters total;
  const auto sum = [&](const auto& value_of) {
    std::optional<double> all = 0;
    for (const KernelCounters& kernel : kernels) {
      const std::optional<double> value = value_of(kernel);
      all = all && value ? std::optional(*all + *value) : std::nullopt;
    }
    return all;
  };
  for (const Field field : {&KernelCounters::seconds, &KernelCounters::cycles, &KernelCounters::dram_bytes_read,
                            &KernelCounters::dram_bytes_written, &KernelCounters::l2_bytes, &KernelCounters::l2_fabric_bytes,
                            &KernelCounters::l1_bytes, &KernelCounters::local_loads}) {
    total.*field = sum([&](const KernelCounters& kernel) { return kernel.*field; });
  }
  if (!total.cycles || !(*total.cycles > 0)) return total;
  for (const Field field :
       {&KernelCounters::tensor_percent, &KernelCounters::occupancy_percent, &KernelCounters::active_percent}) {
    const auto weighted = sum([&](const KernelCounters& kernel) {
      return kernel.*field ? std::optional(*(kernel.*field) * *kernel.cycles) : std::nullopt;
    });
    if (weighted) total.*field = *weighted / *total.cycles;
  }
  return total;
}

std::map<std::string, std::string> counter_metrics([[maybe_unused]] const std::string& chip) {
#if defined(RAFTER_WITH_CUDA)
  return cuda::counter_metrics(chip);
#else
  return {};
#endif
}

CounterRun count_kernels(Device& device, [[maybe_unused]] int64_t most, [[maybe_unused]] const std::function<void()>& work) {
#if defined(RAFTER_WITH_CUDA)
  if (device.id().kind == DeviceKind::cuda) return cuda::count_kernels(most, work);
#endif
  return {{}, fmt::format("{} has no counters that can be read", to_string(device.id()))};
}

}  // namespace rafter
