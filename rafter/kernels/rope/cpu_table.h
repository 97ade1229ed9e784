// The second step of the CPU rope_kv ladder.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

Kernel rope_cpu_table();

}  // namespace rafter
