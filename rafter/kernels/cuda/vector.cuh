// Runs of neighbouring elements in one memory access of up to 16 bytes.
#pragma once

#include "rafter/kernels/cuda/convert.cuh"

namespace rafter::cuda {

inline constexpr int kVectorBytes = 16;

// Elements of T in one 16-byte access.
template <typename T>
inline constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));

template <typename T, int kCount>
struct alignas(kCount * sizeof(T) < kVectorBytes ? kCount * sizeof(T) : kVectorBytes) Pack {
  T at[kCount];
};

// kCount elements, a power of two; `source` is aligned to them all or to 16 bytes, whichever is less.
template <int kCount, typename T>
__device__ inline void load_floats(const T* source, float (&out)[kCount]) {
  const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(source);
#pragma unroll
  for (int i = 0; i < kCount; ++i) out[i] = to_float(pack.at[i]);
}

template <int kCount, typename T>
__device__ inline void store_floats(T* destination, const float (&in)[kCount]) {
  Pack<T, kCount> pack;
#pragma unroll
  for (int i = 0; i < kCount; ++i) pack.at[i] = from_float<T>(in[i]);
  *reinterpret_cast<Pack<T, kCount>*>(destination) = pack;
}

}  // namespace rafter::cuda
