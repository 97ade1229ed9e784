// Dot products of unsigned weight bytes, four to a 32-bit lane, and 15-bit activations; exact in integers.
//
// Each kind of machine stores the activations as its own instructions like them, eight bytes for four of them:
// - with AVX512_VNNI, the four high limbs and the four low ones (q = 128 high + low), for two byte dot products;
// - elsewhere as 16-bit numbers in the order 0 2 1 3, to be multiplied with even and odd bytes of the weights and added in
//   pairs, which every vector machine can do.
//
// Compiled once per Highway target; not for HWY_SCALAR.
#if defined(RAFTER_KERNELS_MATMUL_WORD_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_KERNELS_MATMUL_WORD_DOT_INL_H_
#undef RAFTER_KERNELS_MATMUL_WORD_DOT_INL_H_
#else
#define RAFTER_KERNELS_MATMUL_WORD_DOT_INL_H_
#endif

#include <cstring>

#include "rafter/kernels/row_lanes-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// Four weights of each row, made ready.
struct FourWeights {
  VecU bytes;
  HWY_INLINE explicit FourWeights(VecU word) : bytes(word) {}
};

// The dot products of some weights of each row and the same activations.
struct Dot {
  VecI high, low;
  HWY_INLINE Dot() : high(hn::Zero(TagI())), low(hn::Zero(TagI())) {}

  HWY_INLINE void add(const FourWeights& w, const int8_t* q) {
    add_limb(high, w, q);
    add_limb(low, w, q + 4);
  }
  HWY_INLINE VecI total() const { return hn::Add(hn::ShiftLeft<7>(high), low); }

 private:
  static HWY_INLINE void add_limb(VecI& sum, const FourWeights& w, const int8_t* q) {
    // As assembly, since this version of Highway does not ask the compiler for AVX512_VNNI, though it asks the machine.
    struct Four {
      int8_t byte[4];
    };
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum.raw) : "v"(w.bytes.raw), "m"(*reinterpret_cast<const Four*>(q)));
  }
};

// Writes kLanes activations.
HWY_INLINE void store_activations(VecI values, int8_t* q) {
  const hn::Rebind<int8_t, TagI> d8;
  const hn::Repartition<uint32_t, decltype(d8)> d32;
  const VecI high = hn::ShiftRight<7>(hn::Add(values, hn::Set(TagI(), 64))), low = hn::Sub(values, hn::ShiftLeft<7>(high));
  const auto highs = hn::BitCast(d32, hn::DemoteTo(d8, high)), lows = hn::BitCast(d32, hn::DemoteTo(d8, low));
  hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d32, highs, lows)), d8, q);
  hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d32, highs, lows)), d8, q + 16);
}

#else

struct FourWeights {
  hn::Vec<hn::Repartition<int16_t, TagU> > even, odd;
  HWY_INLINE explicit FourWeights(VecU word)
      : even(hn::BitCast(hn::Repartition<int16_t, TagU>(), hn::And(word, hn::Set(TagU(), 0x00ff00ffu)))),
        odd(hn::BitCast(hn::Repartition<int16_t, TagU>(),
                        hn::ShiftRight<8>(hn::BitCast(hn::Repartition<uint16_t, TagU>(), word)))) {}
};

struct Dot {
  VecI lower, upper;  // which parts of which lanes these hold is the machine's own affair
  HWY_INLINE Dot() : lower(hn::Zero(TagI())), upper(hn::Zero(TagI())) {}

  HWY_INLINE void add(const FourWeights& w, const int8_t* q) {
    lower = hn::ReorderWidenMulAccumulate(TagI(), w.even, pair(q), lower, upper);
    lower = hn::ReorderWidenMulAccumulate(TagI(), w.odd, pair(q + 4), lower, upper);
  }
  HWY_INLINE VecI total() const { return hn::RearrangeToOddPlusEven(lower, upper); }

 private:
  static HWY_INLINE hn::Vec<hn::Repartition<int16_t, TagU> > pair(const int8_t* q) {
    int32_t two;
    std::memcpy(&two, q, sizeof two);
    return hn::BitCast(hn::Repartition<int16_t, TagU>(), hn::Set(TagI(), two));
  }
};

HWY_INLINE void store_activations(VecI values, int8_t* q) {
  const hn::Rebind<int16_t, TagI> d16;
  const hn::Repartition<uint8_t, decltype(d16)> d8;
  alignas(16) static constexpr uint8_t kOrder[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
  const auto ordered = hn::TableLookupBytes(hn::BitCast(d8, hn::DemoteTo(d16, values)), hn::LoadDup128(d8, kOrder));
  hn::StoreU(ordered, d8, reinterpret_cast<uint8_t*>(q));
}

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
#endif
