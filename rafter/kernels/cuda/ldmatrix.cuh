// Matrices of 8 rows of 16 bytes from shared memory into the registers that mma takes them in.
#pragma once

#include <cstdint>

namespace rafter::cuda {

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Four matrices; lanes 8i..8i+7 give the addresses of matrix i's rows. Lane 4g + t receives the t-th 4 bytes of row g.
__device__ inline void load_matrices(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}

// The same of 16-bit elements, each matrix transposed: lane 4g + t receives elements 2t and 2t + 1 of column g.
__device__ inline void load_matrices_transposed(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}

// Where 16-byte chunk `chunk` of row `row` lies in a tile of rows of kRowBytes (a multiple of 128): chunks are permuted
// within each 128 bytes so that the same chunk of eight neighbouring rows falls into different banks.
template <int kRowBytes>
__device__ inline int swizzled(int row, int chunk) {
  static_assert(kRowBytes % 128 == 0);
  return row * kRowBytes + (chunk ^ (row & 7)) * 16;
}

}  // namespace rafter::cuda
