// Dot products of unsigned weight bytes and signed activation bytes, four to a 32-bit lane, exact in integers.
// Compiled once per Highway target; not for HWY_SCALAR.
#if defined(RAFTER_KERNELS_MATMUL_BYTE_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_KERNELS_MATMUL_BYTE_DOT_INL_H_
#undef RAFTER_KERNELS_MATMUL_BYTE_DOT_INL_H_
#else
#define RAFTER_KERNELS_MATMUL_BYTE_DOT_INL_H_
#endif

#include <cstring>

#include "rafter/kernels/row_lanes-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

// sum[lane] + the dot product of the lane's four bytes of w (unsigned; below 128 unless kWide) and q[0..3] (signed,
// above -128).
#if HWY_TARGET == HWY_AVX3_DL
template <bool kWide>
HWY_INLINE VecI dot_four(VecI sum, VecU w, const int8_t* q) {
  // As assembly, since this version of Highway does not ask the compiler for AVX512_VNNI, though it asks the machine.
  struct Four {
    int8_t byte[4];
  };
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "m"(*reinterpret_cast<const Four*>(q)));
  return sum;
}
#else
HWY_INLINE VecI broadcast_four(const int8_t* q) {
  int32_t four;
  std::memcpy(&four, q, sizeof four);
  return hn::Set(TagI(), four);
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
HWY_INLINE VecI add_pairs_of_pairs(VecI sum, VecU w, VecI x) {
#if HWY_TARGET == HWY_AVX3
  return hn::Add(sum, VecI{_mm512_madd_epi16(_mm512_maddubs_epi16(w.raw, x.raw), _mm512_set1_epi16(1))});
#else
  return hn::Add(sum, VecI{_mm256_madd_epi16(_mm256_maddubs_epi16(w.raw, x.raw), _mm256_set1_epi16(1))});
#endif
}
// The instruction saturates pairs at 16 bits: 2 * 127 * 127 is below that, 2 * 255 * 127 is not, so bit 7 goes apart.
template <bool kWide>
HWY_INLINE VecI dot_four(VecI sum, VecU w, const int8_t* q) {
  const TagU d;
  const VecI x = broadcast_four(q);
  if constexpr (kWide) {
    sum = add_pairs_of_pairs(sum, hn::And(w, hn::Set(d, 0x80808080u)), x);
    w = hn::And(w, hn::Set(d, 0x7f7f7f7fu));
  }
  return add_pairs_of_pairs(sum, w, x);
}
#else
// Bytes 0 and 2, then 1 and 3, as 16-bit numbers, which every machine can multiply and add in pairs.
template <bool kWide>
HWY_INLINE VecI dot_four(VecI sum, VecU w, const int8_t* q) {
  const TagI d;
  const hn::Repartition<int16_t, TagU> d16;
  const hn::Repartition<uint16_t, TagU> du16;
  const auto xs = hn::BitCast(d16, broadcast_four(q));
  const auto x_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(xs)), x_odd = hn::ShiftRight<8>(xs);
  const auto ws = hn::BitCast(du16, w);
  const auto w_even = hn::BitCast(d16, hn::And(ws, hn::Set(du16, 0x00ff))), w_odd = hn::BitCast(d16, hn::ShiftRight<8>(ws));
  VecI upper = hn::Zero(d);
  VecI lower = hn::ReorderWidenMulAccumulate(d, w_even, x_even, hn::Zero(d), upper);
  lower = hn::ReorderWidenMulAccumulate(d, w_odd, x_odd, lower, upper);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(lower, upper));
}
#endif
#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
#endif
