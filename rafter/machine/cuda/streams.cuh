// What probes that stream memory share: 16-byte accesses past L1, indices of a grid-wide sweep, random contents.
#pragma once

#include <cstdint>

#include "rafter/device/buffer.h"
#include "rafter/device/cuda/launch.h"

namespace rafter::cuda {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A block takes kInFlight runs of blockDim.x neighbours at a time.
template <int kInFlight>
__device__ inline int64_t first() {
  return blockIdx.x * int64_t{blockDim.x} * kInFlight + threadIdx.x;
}
template <int kInFlight>
__device__ inline int64_t step() {
  return int64_t{gridDim.x} * blockDim.x * kInFlight;
}

// Volatile: a compiler that sees the value unused may not drop it.
__device__ inline uint4 load_once(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
__device__ inline void store_once(uint4* to, const uint4& v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__device__ inline uint4 mix(const uint4& a, const uint4& b) { return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w); }

// splitmix64's finaliser: neighbours land far apart.
__host__ __device__ inline uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Random bits that are also floats of ordinary size: bandwidth may depend on what is moved, arithmetic does.
__global__ void random_words(uint32_t* out, int64_t count);
void fill_random(Stream& stream, const Buffer& buffer);

}  // namespace rafter::cuda
