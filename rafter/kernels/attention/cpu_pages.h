// The second step of the CPU attention ladder.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

Kernel attention_cpu_pages(OpKind kind);

}  // namespace rafter
