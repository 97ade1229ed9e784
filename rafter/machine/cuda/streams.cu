#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

// Sign and mantissa random, exponents from 2^-4 to 2^3.
__global__ void random_words(uint32_t* out, int64_t count) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += threads) {
    const uint64_t bits = scramble(static_cast<uint64_t>(i));
    const auto exponent = 123u + static_cast<uint32_t>(bits >> 61);
    out[i] = (static_cast<uint32_t>(bits) & 0x807fffffu) | exponent << 23;
  }
}

void fill_random(Stream& stream, const Buffer& buffer) {
  launch(stream, {.grid = dim3(2048), .block = dim3(256)}, random_words, static_cast<uint32_t*>(buffer.data()),
         buffer.bytes() / 4);
  stream.synchronize();
}

}  // namespace rafter::cuda
