// The CUDA kernels of rope_kv, in ladder order.
#include "rafter/kernels/rope/register.h"
#include "rafter/kernels/rope/cuda/steps.h"

namespace rafter {

void register_rope_cuda(Registry& registry) {
  rope_kv::add_01_naive(registry);
  rope_kv::add_02_quads(registry);
}

}  // namespace rafter
