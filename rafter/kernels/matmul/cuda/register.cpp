#include "rafter/kernels/matmul/register.h"
#include "rafter/kernels/matmul/cuda/steps.h"

namespace rafter {

void register_matmul_cuda(Registry& registry) { matmul::add_01_naive(registry); }

}  // namespace rafter
