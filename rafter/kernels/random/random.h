// Uniform random tensors, made where they lie: weights of a model that has no file.
#pragma once

#include <cmath>
#include <cstdint>

#include "rafter/base/random.h"
#include "rafter/device/tensor.h"

namespace rafter {

class Stream;

// Element i of the tensor (row-major, whatever its row stride) becomes random_between(seed, i, low, high), rounded to its
// dtype: f32, f16 or bf16. The CPU and CUDA make the same values.
void fill_uniform(const Tensor& tensor, uint64_t seed, float low, float high, Stream& stream);

// What fill_uniform runs for a tensor in a GPU's memory; defined in cuda/, where the build has CUDA.
void fill_uniform_cuda(const Tensor& tensor, uint64_t seed, float low, float high, Stream& stream);

// A word of the generator on [low, high). The fused multiply-add is spelled out, so that no compiler's choice to contract
// changes a bit.
RAFTER_HOST_DEVICE inline float random_between(uint32_t word, float low, float high) {
  return fmaf(high - low, to_unit(word), low);
}

RAFTER_HOST_DEVICE inline float random_between(uint64_t seed, uint64_t index, float low, float high) {
  return random_between(philox(seed, index >> 2).word[index & 3], low, high);
}

}  // namespace rafter
