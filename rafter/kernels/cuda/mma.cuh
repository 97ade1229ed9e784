// Tensor-core products of one warp (mma.sync): D += A B with A row-major and B column-major.
// Who holds what (PTX ISA, "Matrix Fragments for mma.m16n8k16"), for lane = 4 g + t:
//   A: a[0] row g, a[1] row g + 8, at the t-th 4 bytes of the first half of K; a[2], a[3] the same of the second half
//   B: b[0] column g at the t-th 4 bytes of the first half of K; b[1] of the second half
//   D: d[0], d[1] row g, columns 2t and 2t + 1; d[2], d[3] row g + 8
#pragma once

#include <type_traits>

#include "rafter/kernels/cuda/convert.cuh"

namespace rafter::cuda {

// 16 x 8 x 16 of f16 or bf16.
template <typename T>
__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, f16>) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

// 16 x 8 x 32 of int8: exact.
__device__ inline void mma_int8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 16 x 8 x 16 of int8: one half of K of the above, with a_low = a[0] and a_high = a[1] for the first half.
__device__ inline void mma_int8_half(int (&d)[4], uint32_t a_low, uint32_t a_high, uint32_t b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a_low), "r"(a_high), "r"(b));
}

// Two floats as one register of T, the first in the low half.
template <typename T>
__device__ inline uint32_t pack_pair(float low, float high) {
  if constexpr (std::is_same_v<T, f16>) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }
}

}  // namespace rafter::cuda
