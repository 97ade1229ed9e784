// The CUDA kernels of argmax and advance, in ladder order.
#include "rafter/kernels/sample/register.h"
#include "rafter/kernels/sample/cuda/steps.h"

namespace rafter {

void register_sample_cuda(Registry& registry) {
  argmax::add_01_naive(registry);
  argmax::add_02_split(registry);
  advance::add_01_naive(registry);
}

}  // namespace rafter
