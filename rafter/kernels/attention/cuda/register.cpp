#include "rafter/kernels/attention/register.h"
#include "rafter/kernels/attention/cuda/steps.h"

namespace rafter {

void register_attention_cuda(Registry& registry) { attention::add_01_naive(registry); }

}  // namespace rafter
