// wgmma of m64n256 and 32 bytes of K, D += A B, by type: one instruction of a warpgroup on Hopper's tensor cores.
//
// Facts are from the PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". A (64 rows) and B (256 columns) lie in shared
// memory, K-major, in tiles of 128 bytes of K with the 128-byte swizzle: the 16-byte chunk c of row r is stored as chunk
// c ^ (r % 8). Thread 4 g + t of warp w holds d[i] of row 16 w + g + 8 (i / 2 % 2), column 8 (i / 4) + 2 t + i % 2; A in
// registers is part i, a 32-bit word, of row 16 w + g + 8 (i % 2), word t + 4 (i / 2).
#pragma once

#include <cstdint>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define RAFTER_HAS_WGMMA 1
#else
#define RAFTER_HAS_WGMMA 0
#endif

namespace rafter::cuda::wgmma {

constexpr int kRows = 64, kColumns = 256, kTileBytes = 128, kStepBytes = 32, kSteps = kTileBytes / kStepBytes;
constexpr int kSums = kRows * kColumns / 128;  // of one thread
constexpr bool kHere = RAFTER_HAS_WGMMA;

// Of a tile that begins on a multiple of 1024 bytes: address and stride in units of 16 bytes; groups of eight rows are 1024
// bytes apart; bit 62 says 128-byte swizzle. A step of K adds kStepBytes / 16.
__device__ inline uint64_t descriptor(const void* tile) {
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

// Where word `word` of row `row` of a tile is stored, in words.
__device__ inline int swizzled(int row, int word) { return row * (kTileBytes / 4) + ((word / 4 ^ row % 8) * 4 + word % 4); }

#if RAFTER_HAS_WGMMA
// Before the first wgmma, and after a change of its registers.
__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most `kGroups` committed groups are unfinished.
template <int kGroups>
__device__ inline void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}
// Makes shared memory that this thread wrote visible to the tensor cores.
__device__ inline void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// The 128 sums as operands of an asm statement, and their names in its text.
#define RAFTER_SUMS_8(constraint, i)                                                                        \
  constraint(d[i]), constraint(d[i + 1]), constraint(d[i + 2]), constraint(d[i + 3]), constraint(d[i + 4]), \
      constraint(d[i + 5]), constraint(d[i + 6]), constraint(d[i + 7])
#define RAFTER_SUMS_32(constraint, i)                                                                \
  RAFTER_SUMS_8(constraint, i), RAFTER_SUMS_8(constraint, i + 8), RAFTER_SUMS_8(constraint, i + 16), \
      RAFTER_SUMS_8(constraint, i + 24)
#define RAFTER_SUMS(constraint) \
  RAFTER_SUMS_32(constraint, 0), RAFTER_SUMS_32(constraint, 32), RAFTER_SUMS_32(constraint, 64), RAFTER_SUMS_32(constraint, 96)
#define RAFTER_SUM_NAMES                                                                           \
  "{"                                                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                         \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "               \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "               \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "               \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "               \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "               \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "   \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
  "}"
// Adds to the sums (scale-d true) with both operands as they are (1, 1), none transposed (0, 0).
#define RAFTER_WGMMA(shape_and_types, more)    \
  "{ .reg .pred add; setp.eq.u32 add, 0, 0;\n" \
  "wgmma.mma_async.sync.aligned." shape_and_types " " RAFTER_SUM_NAMES more "; }\n"

struct Bf16 {
  using Sum = float;
  static __device__ void mma(float (&d)[kSums], uint64_t a, uint64_t b) {
    asm volatile(RAFTER_WGMMA("m64n256k16.f32.bf16.bf16", ", %128, %129, add, 1, 1, 0, 0")
                 : RAFTER_SUMS("+f")
                 : "l"(a), "l"(b));
  }
  static __device__ void mma(float (&d)[kSums], const uint32_t (&a)[4], uint64_t b) {
    asm volatile(RAFTER_WGMMA("m64n256k16.f32.bf16.bf16", ", {%128, %129, %130, %131}, %132, add, 1, 1, 0")
                 : RAFTER_SUMS("+f")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};
struct F16 {
  using Sum = float;
  static __device__ void mma(float (&d)[kSums], uint64_t a, uint64_t b) {
    asm volatile(RAFTER_WGMMA("m64n256k16.f32.f16.f16", ", %128, %129, add, 1, 1, 0, 0") : RAFTER_SUMS("+f") : "l"(a), "l"(b));
  }
};
struct Tf32 {
  using Sum = float;
  static __device__ void mma(float (&d)[kSums], uint64_t a, uint64_t b) {
    asm volatile(RAFTER_WGMMA("m64n256k8.f32.tf32.tf32", ", %128, %129, add, 1, 1") : RAFTER_SUMS("+f") : "l"(a), "l"(b));
  }
};
struct Fp8 {
  using Sum = float;
  static __device__ void mma(float (&d)[kSums], uint64_t a, uint64_t b) {
    asm volatile(RAFTER_WGMMA("m64n256k32.f32.e4m3.e4m3", ", %128, %129, add, 1, 1") : RAFTER_SUMS("+f") : "l"(a), "l"(b));
  }
};
struct Int8 {
  using Sum = int;
  static __device__ void mma(int (&d)[kSums], uint64_t a, uint64_t b) {
    asm volatile(RAFTER_WGMMA("m64n256k32.s32.s8.s8", ", %128, %129, add") : RAFTER_SUMS("+r") : "l"(a), "l"(b));
  }
};
#undef RAFTER_WGMMA
#undef RAFTER_SUM_NAMES
#undef RAFTER_SUMS
#undef RAFTER_SUMS_32
#undef RAFTER_SUMS_8
#else  // the names, for kernels that are empty elsewhere
struct Bf16 {};
struct F16 {};
struct Tf32 {};
struct Fp8 {};
struct Int8 {};
#endif

}  // namespace rafter::cuda::wgmma
