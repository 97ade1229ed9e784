#include "rafter/kernels/rope/register.h"
#include "rafter/kernels/rope/cuda/steps.h"

namespace rafter {

void register_rope_cuda(Registry& registry) { rope_kv::add_01_naive(registry); }

}  // namespace rafter
