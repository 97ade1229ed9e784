// The second step of the CPU argmax ladder.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

Kernel argmax_cpu_vector();

}  // namespace rafter
