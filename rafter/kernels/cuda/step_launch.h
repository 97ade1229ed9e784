// Launching a kernel that runs in every decode step.
#pragma once

#include <utility>

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/device_limits.h"

namespace rafter::cuda {

// Early (launch.h), and with an SM's memory split as all kernels of a step ask for it, so that they may overlap.
template <auto kKernel, typename... Args>
void launch_in_step(Stream& stream, dim3 grid, dim3 block, Args&&... args) {
  static const bool prepared = (share_whole_sm(kKernel), true);
  (void)prepared;
  launch(stream, {.grid = grid, .block = block, .dependent = Dependent::early}, kKernel, std::forward<Args>(args)...);
}

}  // namespace rafter::cuda
