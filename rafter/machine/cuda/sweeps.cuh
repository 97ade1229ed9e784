// Re-reading a small buffer as fast as an SM can: what the bandwidth probes of the on-chip memories share.
//
// Each warp reads rows of 32 lanes side by side, kRows of them in flight, then moves on by one row and wraps: addresses change
// all the time, so no compiler can keep a value, and each access of a warp is one without conflicts.
#pragma once

#include <cstdint>

#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

constexpr int kRows = 16;  // loads in flight of a thread

__device__ inline uint32_t fold(uint32_t sum, uint32_t v) { return sum ^ v; }
__device__ inline uint4 fold(const uint4& sum, const uint4& v) { return mix(sum, v); }
__device__ inline bool unlikely(uint32_t v) { return v == 0x12345678u; }
__device__ inline bool unlikely(const uint4& v) { return v.x == 0x12345678u && v.y == 0x9abcdef0u; }

// Bytes that the warps of a block touch: kBase where a row may start, and the rows after it.
template <typename T>
constexpr uint32_t swept_bytes(uint32_t base_bytes) {
  return base_bytes + kRows * 32 * sizeof(T);
}

// `load(offset, row)` gives the T at their sum, in bytes, of which `row` is known when compiling; base_bytes is a power of two
// and a multiple of a row.
template <typename T, typename Load>
__device__ inline T sweep(int rounds, uint32_t base_bytes, const Load& load) {
  constexpr uint32_t kRow = 32 * sizeof(T);
  uint32_t base = threadIdx.x / 32 * kRow;
  const uint32_t lane = threadIdx.x % 32 * sizeof(T);
  T sum{};
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    const uint32_t at = (base & (base_bytes - 1)) + lane;
    T v[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) v[u] = load(at, u * kRow);
#pragma unroll
    for (int u = 0; u < kRows; ++u) sum = fold(sum, v[u]);
    base += kRow;
  }
  return sum;
}

}  // namespace rafter::cuda
