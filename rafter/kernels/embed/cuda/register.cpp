// The CUDA kernels of embed, in ladder order.
#include "rafter/kernels/embed/register.h"
#include "rafter/kernels/embed/cuda/steps.h"

namespace rafter {

void register_embed_cuda(Registry& registry) {
  embed::add_01_naive(registry);
  embed::add_02_vectors(registry);
}

}  // namespace rafter
