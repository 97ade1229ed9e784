// The second step of the CPU matmul ladder.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

Kernel matmul_cpu_lanes();

}  // namespace rafter
