// The CUDA kernels of rmsnorm, in ladder order.
#include "rafter/kernels/norm/register.h"
#include "rafter/kernels/norm/cuda/steps.h"

namespace rafter {

void register_norm_cuda(Registry& registry) {
  rmsnorm::add_01_naive(registry);
  rmsnorm::add_02_rows(registry);
}

}  // namespace rafter
