#include "rafter/measure/counters.h"

#if defined(RAFTER_WITH_CUDA)
#include "rafter/measure/cuda/range_profiler.h"
#endif

namespace rafter {

std::optional<double> KernelCounters::dram_bytes() const {
  if (!dram_bytes_read || !dram_bytes_written) return std::nullopt;
  return *dram_bytes_read + *dram_bytes_written;
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
