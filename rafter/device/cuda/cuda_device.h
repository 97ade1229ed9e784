// A CUDA GPU as a Device. The runtime is linked statically and finds the driver at run time, so asking costs nothing on
// a machine that has none.
#pragma once

#include <memory>

#include "rafter/device/device.h"

namespace rafter::cuda {

CudaStatus status();
std::unique_ptr<Device> make_device(int index);

}  // namespace rafter::cuda
