// The CPU as a Device: one of them, its streams run work at once.
#pragma once

#include <memory>

#include "rafter/device/device.h"

namespace rafter {

std::unique_ptr<Device> make_cpu_device();

}  // namespace rafter
