// The registry of every kernel of this build: one function per family adds that family's kernels.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

// Filled on first use.
const Registry& registry();

}  // namespace rafter
