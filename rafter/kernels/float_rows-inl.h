// Rows of activations as floats, and back: f32, f16 and bf16 converted a vector at a time, rounded to nearest even.
// Compiled once per Highway target; not for HWY_SCALAR.
#if defined(RAFTER_KERNELS_FLOAT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_KERNELS_FLOAT_ROWS_INL_H_
#undef RAFTER_KERNELS_FLOAT_ROWS_INL_H_
#else
#define RAFTER_KERNELS_FLOAT_ROWS_INL_H_
#endif

#include <cstring>

#include "rafter/kernels/host_values.h"
#include "rafter/kernels/row_lanes-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

HWY_INLINE hn::Vec<TagHalf> load_halves(const void* p) {
  return hn::BitCast(TagHalf(), hn::LoadU(hn::Repartition<uint8_t, TagHalf>(), static_cast<const uint8_t*>(p)));
}

// How a type is read: kLanes values in a row from memory at any alignment, or value i of those in each 32-bit word.
struct ReadF32 {
  static constexpr int64_t kBytes = 4;
  static HWY_INLINE VecF load(const void* p) {
    return hn::BitCast(TagF(), hn::LoadU(hn::Repartition<uint8_t, TagF>(), static_cast<const uint8_t*>(p)));
  }
  static HWY_INLINE VecF in_word(VecU word, int) { return hn::BitCast(TagF(), word); }
};
struct ReadF16 {
  static constexpr int64_t kBytes = 2;
  static HWY_INLINE VecF load(const void* p) { return promote_f16(load_halves(p)); }
  static HWY_INLINE VecF in_word(VecU word, int i) { return i == 0 ? low_f16(word) : high_f16(word); }
};
struct ReadBf16 {
  static constexpr int64_t kBytes = 2;
  static HWY_INLINE VecF load(const void* p) {
    return hn::PromoteTo(TagF(), hn::BitCast(hn::Rebind<hwy::bfloat16_t, TagF>(), load_halves(p)));
  }
  static HWY_INLINE VecF in_word(VecU word, int i) {
    return hn::BitCast(TagF(), i == 0 ? hn::ShiftLeft<16>(word) : hn::And(word, hn::Set(TagU(), 0xffff0000u)));
  }
};

// Calls body with the reader of a dtype.
template <typename Body>
HWY_INLINE auto with_reader(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f16:
      return body(ReadF16());
    case DType::bf16:
      return body(ReadBf16());
    default:
      return body(ReadF32());
  }
}

HWY_INLINE void store_bf16(VecF v, uint16_t* to) {
  const TagU u;
  const VecU bits = hn::BitCast(u, v);
  const VecU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const VecU rounded = hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff)));
  const VecU quiet = hn::Or(bits, hn::Set(u, 0x400000));  // a NaN stays one
  const VecU chosen = hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::TruncateTo(TagHalf(), hn::ShiftRight<16>(chosen)), TagHalf(), to);
}

HWY_INLINE void store_f16(VecF v, uint16_t* to) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_EMU128
  // Where there is no instruction for it, Highway truncates.
  float values[kLanes];
  hn::StoreU(v, TagF(), values);
  for (int i = 0; i < kLanes; ++i) to[i] = float_to_f16(values[i]);
#else
  hn::StoreU(hn::BitCast(TagHalf(), hn::DemoteTo(hn::Rebind<hwy::float16_t, TagF>(), v)), TagHalf(), to);
#endif
}

template <typename Read>
HWY_INLINE int64_t load_whole_vectors(const void* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(Read::load(static_cast<const uint8_t*>(from) + i * Read::kBytes), TagF(), to + i);
  }
  return i;
}

HWY_INLINE void load_floats(DType dtype, const void* from, int64_t count, float* to) {
  if (dtype == DType::f32) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  int64_t i =
      dtype == DType::f16 ? load_whole_vectors<ReadF16>(from, count, to) : load_whole_vectors<ReadBf16>(from, count, to);
  for (; i < count; ++i) to[i] = read_value(dtype, from, i);
}

HWY_INLINE void store_floats(DType dtype, const float* from, int64_t count, void* to) {
  if (dtype == DType::f32) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  auto* halves = static_cast<uint16_t*>(to);
  int64_t i = 0;
  if (dtype == DType::f16) {
    for (; i + kLanes <= count; i += kLanes) store_f16(hn::LoadU(TagF(), from + i), halves + i);
  } else {
    for (; i + kLanes <= count; i += kLanes) store_bf16(hn::LoadU(TagF(), from + i), halves + i);
  }
  for (; i < count; ++i) write_value(dtype, to, i, from[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
#endif
