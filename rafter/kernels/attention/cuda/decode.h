// The attention_decode kernels that split each sequence's keys over blocks, and the one that joins the parts.
#pragma once

#include "rafter/ops/registry.h"

namespace rafter {

void register_attention_decode_cuda(Registry& registry);

namespace attention {

// One function per ladder step, in its own file.
void add_10_decode_split(Registry& registry);      // decode_10_split.cu
void add_11_decode_split_mma(Registry& registry);  // decode_11_split_mma.cu

// Step 10 with a given number of splits, for which the workspace must do: step 11 hands misaligned views down to it.
void launch_decode_split(const OpView& op, int splits, Stream& stream);

}  // namespace attention
}  // namespace rafter
