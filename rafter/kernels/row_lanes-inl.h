// Lanes that are rows: the same few bytes of many rows of a matrix, brought together in one vector, a row a lane. What
// is then summed along a row needs no sum across lanes, and comes out in the same order whatever the vector's length.
//
// Compiled once per Highway target; not for HWY_SCALAR, whose vectors have no neighbours to exchange with.
#if defined(RAFTER_KERNELS_ROW_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_KERNELS_ROW_LANES_INL_H_
#undef RAFTER_KERNELS_ROW_LANES_INL_H_
#else
#define RAFTER_KERNELS_ROW_LANES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using TagU = hn::CappedTag<uint32_t, 16>;
using TagI = hn::Rebind<int32_t, TagU>;
using TagF = hn::Rebind<float, TagU>;
using TagHalf = hn::Rebind<uint16_t, TagU>;  // half a vector of 16-bit numbers
using VecU = hn::Vec<TagU>;
using VecI = hn::Vec<TagI>;
using VecF = hn::Vec<TagF>;

inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(TagU()));  // 16, 8 or 4

// 16 bytes of rows 0, 4, 8, ... in the 128-bit blocks of one vector.
HWY_INLINE VecU load_every_fourth(const uint8_t* p, ptrdiff_t stride) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const auto at = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * i * stride)); };
  // A broadcast under a mask needs no shuffle unit, which an insert would; of 256 bits, as the load unit moves no more
  // at once.
  const auto pair = [&](int i) { return _mm256_mask_broadcast_i32x4(_mm256_castsi128_si256(at(i)), 0xf0, at(i + 1)); };
  return VecU{_mm512_inserti64x4(_mm512_castsi256_si512(pair(0)), pair(2), 1)};
#elif HWY_TARGET == HWY_AVX2
  const auto at = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 4 * i * stride)); };
  return VecU{_mm256_inserti128_si256(_mm256_castsi128_si256(at(0)), at(1), 1)};
#else
  (void)stride;
  return hn::BitCast(TagU(), hn::LoadU(hn::Repartition<uint8_t, TagU>(), p));
#endif
}

// Four consecutive 32-bit words of kLanes rows: word[i] holds word i of every row, in row order.
struct Words {
  VecU word[4];
  HWY_INLINE Words() {}  // spelled out so that GCC compiles it for the target
};

HWY_INLINE Words load_words(const uint8_t* p, ptrdiff_t stride) {
  const TagU d;
  const hn::Repartition<uint64_t, TagU> d64;
  const VecU r0 = load_every_fourth(p, stride), r1 = load_every_fourth(p + stride, stride);
  const VecU r2 = load_every_fourth(p + 2 * stride, stride), r3 = load_every_fourth(p + 3 * stride, stride);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1)), low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1)),
             high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  Words words;
  words.word[0] = hn::BitCast(d, hn::InterleaveLower(d64, low01, low23));
  words.word[1] = hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23));
  words.word[2] = hn::BitCast(d, hn::InterleaveLower(d64, high01, high23));
  words.word[3] = hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23));
  return words;
}

// f16 bits as floats.
HWY_INLINE VecF promote_f16(hn::Vec<TagHalf> bits) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_EMU128
  // Where there is no instruction for it, Highway knows no infinities. As half.h does it: read as a tiny float, scaled.
  const TagU u;
  const VecU wide = hn::PromoteTo(u, bits);
  const VecU magnitude = hn::And(wide, hn::Set(u, 0x7fff)), mantissa = hn::ShiftLeft<13>(magnitude);
  const VecF scaled = hn::Mul(hn::BitCast(TagF(), mantissa), hn::Set(TagF(), 0x1p112f));
  const VecU special = hn::Or(mantissa, hn::Set(u, 0x7f800000));
  const auto finite = hn::Lt(hn::BitCast(TagI(), magnitude), hn::Set(TagI(), 0x7c00));
  const VecU value = hn::IfThenElse(hn::RebindMask(u, finite), hn::BitCast(u, scaled), special);
  return hn::BitCast(TagF(), hn::Or(value, hn::ShiftLeft<16>(hn::AndNot(hn::Set(u, 0x7fff), wide))));
#else
  return hn::PromoteTo(TagF(), hn::BitCast(hn::Rebind<hwy::float16_t, TagU>(), bits));
#endif
}

// The f16 numbers in the low and in the high halves of 32-bit lanes.
HWY_INLINE VecF low_f16(VecU v) { return promote_f16(hn::TruncateTo(TagHalf(), v)); }
HWY_INLINE VecF high_f16(VecU v) { return low_f16(hn::ShiftRight<16>(v)); }

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
#endif
