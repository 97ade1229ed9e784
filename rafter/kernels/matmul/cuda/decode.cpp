#include "rafter/kernels/matmul/cuda/decode.h"

namespace rafter {

void register_matmul_decode_cuda(Registry& registry) {
  decode::register_rows(registry);
  decode::register_ring(registry);
  decode::register_mma(registry);
  decode::register_quantised(registry);
}

}  // namespace rafter
