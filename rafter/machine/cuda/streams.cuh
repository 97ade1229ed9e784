// What probes that stream memory share: 16-byte accesses past L1, indices of a grid-wide sweep, random contents.
#pragma once

#include <cstdint>

#include "rafter/device/buffer.h"
#include "rafter/device/cuda/launch.h"

namespace rafter::cuda {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls body(i, full) for every place i at which this thread starts a group of kInFlight accesses, blockDim.x apart: full where
// all of them are inside `count`, so that the common case needs no check between its loads and has all of them in flight.
template <int kInFlight, typename Body>
__device__ inline void for_groups(int64_t count, const Body& body) {
  const int64_t run = int64_t{blockDim.x} * kInFlight;
  for (int64_t start = blockIdx.x * run; start < count; start += gridDim.x * run) {
    body(start + threadIdx.x, start + run <= count);
  }
}

// Loads a group; what lies past the end is zero.
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

// A group as for_groups() deals it out; what lies past the end is zero, or not written.
template <int kInFlight>
__device__ inline void load_group(uint4 (&v)[kInFlight], const uint4* in, int64_t i, int64_t count, bool full) {
  if (full) {
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) v[u] = load_once(in + i + u * blockDim.x);
  } else {
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) v[u] = i + u * blockDim.x < count ? load_once(in + i + u * blockDim.x) : uint4{};
  }
}
template <int kInFlight>
__device__ inline void store_group(uint4* out, const uint4 (&v)[kInFlight], int64_t i, int64_t count, bool full) {
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    if (full || i + u * blockDim.x < count) store_once(out + i + u * blockDim.x, v[u]);
  }
}

__device__ inline uint4 mix(const uint4& a, const uint4& b) { return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w); }

// splitmix64's finaliser: neighbours land far apart.
__host__ __device__ inline uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The same for 32 bits, in half a dozen instructions (the finaliser of MurmurHash3).
__device__ inline uint32_t scramble32(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// Random bits that are also floats of ordinary size: bandwidth may depend on what is moved, arithmetic does.
__global__ void random_words(uint32_t* out, int64_t count);
void fill_random(Stream& stream, const Buffer& buffer);

}  // namespace rafter::cuda
