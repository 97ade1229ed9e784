#include "rafter/measure/gpu_state.h"

#if defined(RAFTER_WITH_CUDA)
#include "rafter/measure/cuda/nvml.h"
#endif

namespace rafter {

GpuState gpu_state([[maybe_unused]] DeviceId device) {
#if defined(RAFTER_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return cuda::nvml_state(device.index);
#endif
  return {};
}

}  // namespace rafter
