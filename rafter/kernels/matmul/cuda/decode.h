// The matmul kernels for few rows of activations (T = 1..8): they stream the weights once at the rate of DRAM.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_matmul_decode_cuda(Registry& registry);

namespace decode {

inline constexpr int kMaxTokens = 8;

// One function per ladder step, in its own file.
void register_rows(Registry& registry);       // 10_decode_rows.cu
void register_ring(Registry& registry);       // 11_decode_ring.cu
void register_mma(Registry& registry);        // 12_decode_mma.cu
void register_quantised(Registry& registry);  // 13_decode_quantised.cu

// Step 10's launch, which takes weights at any address: the other steps hand misaligned views down to it.
void launch_rows(const OpView& op, Stream& stream);

}  // namespace decode
}  // namespace rafter
