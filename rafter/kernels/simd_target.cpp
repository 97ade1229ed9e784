#include "rafter/kernels/simd_target.h"

#include "rafter/base/simd_targets.h"

#include <hwy/highway.h>

namespace rafter {

// Dispatch takes the best of the targets that were compiled and that the processor has; the best is the lowest bit.
std::string_view simd_target() {
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(usable & -usable);
}

}  // namespace rafter
