// The CUDA kernels of attention, in ladder order.
#include "rafter/kernels/attention/register.h"

#include "rafter/kernels/attention/cuda/decode.h"
#include "rafter/kernels/attention/cuda/steps.h"

namespace rafter {

void register_attention_cuda(Registry& registry) {
  attention::add_01_naive(registry);
  attention::add_02_warps(registry);
  attention::add_03_flash(registry);
  register_attention_decode_cuda(registry);
}

}  // namespace rafter
