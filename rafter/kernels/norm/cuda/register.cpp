#include "rafter/kernels/norm/register.h"
#include "rafter/kernels/norm/cuda/steps.h"

namespace rafter {

void register_norm_cuda(Registry& registry) { rmsnorm::add_01_naive(registry); }

}  // namespace rafter
