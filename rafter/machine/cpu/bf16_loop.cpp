// BF16 pairs multiplied and added to floats, 32 multiply-adds an instruction. On its own, since Highway has no such target yet.
#include "rafter/machine/cpu/simd_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rafter::cpu {

#if defined(__x86_64__)

namespace {

__attribute__((target("avx512f,avx512bf16"))) double dot_rounds(int64_t rounds) {
  constexpr int kChains = 12;
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803e80));  // 0.25 and 1
  const auto b = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3a83bb03));  // 0.001 and -0.002: sums stay small
  __m512 sum[kChains];
  for (__m512& each : sum) each = _mm512_setzero_ps();
  for (int64_t round = 0; round < rounds; ++round) {
    for (int c = 0; c < kChains; ++c) sum[c] = _mm512_dpbf16_ps(sum[c], a, b);
  }
  for (const __m512& each : sum) asm volatile("" ::"x"(each));
  return 2.0 * kChains * 32 * static_cast<double>(rounds);
}

}  // namespace

MathLoop bf16_loop() { return __builtin_cpu_supports("avx512bf16") != 0 ? dot_rounds : nullptr; }

#else

MathLoop bf16_loop() { return nullptr; }

#endif

}  // namespace rafter::cpu
