// The CUDA kernels of matmul, in ladder order.
#include "rafter/kernels/matmul/register.h"

#include "rafter/kernels/matmul/cuda/decode.h"
#include "rafter/kernels/matmul/cuda/steps.h"

namespace rafter {

void register_matmul_cuda(Registry& registry) {
  matmul::add_01_naive(registry);
  matmul::add_02_tiled(registry);
  matmul::add_03_tensor_core(registry);
  matmul::add_04_int8_blocks(registry);
  register_matmul_decode_cuda(registry);
}

}  // namespace rafter
