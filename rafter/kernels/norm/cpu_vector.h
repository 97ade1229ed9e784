// The second step of the CPU rmsnorm ladder.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

Kernel rmsnorm_cpu_vector();

}  // namespace rafter
