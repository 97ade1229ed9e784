// What a GPU is doing now: the clocks a measurement ran at, beside the maximum that a driver promises.
#pragma once

#include <string>

#include "rafter/device/tensor.h"

namespace rafter {

struct GpuState {
  double sm_clock_hz = 0, memory_clock_hz = 0;  // now; 0 where unknown
  std::string driver;                           // "580.65.06"; empty where unknown
};

// From NVML, opened at run time. All unknown on the CPU and where there is no NVML.
GpuState gpu_state(DeviceId device);

}  // namespace rafter
