// The CUDA kernels of swiglu, in ladder order.
#include "rafter/kernels/activation/register.h"
#include "rafter/kernels/activation/cuda/steps.h"

namespace rafter {

void register_activation_cuda(Registry& registry) {
  swiglu::add_01_naive(registry);
  swiglu::add_02_vectors(registry);
}

}  // namespace rafter
