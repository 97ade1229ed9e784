// NVML, the driver's management library, opened at run time: the binary starts where there is none.
#pragma once

#include "rafter/measure/gpu_state.h"

namespace rafter::cuda {

// `index` counts as the CUDA runtime does. Unknown values where NVML is missing or refuses.
GpuState nvml_state(int index);

}  // namespace rafter::cuda
