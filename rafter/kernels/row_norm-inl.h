// RMSNorm of a row in vectors, shared by the norm kernel and the matmul's norm prologue: one order of additions, so that a
// row has the same bits whether its norm was fused or not.
//
// Compiled once per Highway target; not for HWY_SCALAR.
#if defined(RAFTER_ROW_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_ROW_NORM_INL_H
#undef RAFTER_ROW_NORM_INL_H
#else
#define RAFTER_ROW_NORM_INL_H
#endif

#include <cstdint>

#include "rafter/kernels/float_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

constexpr int64_t kPiece = 256;  // values whose squares are summed in f32; sums of pieces are added in double

// Sum of squares of up to kPiece values, `count` a whole number of vectors: four sums that do not wait for each other.
inline double piece_squares(const float* values, int64_t count) {
  const TagF f;
  VecF sum[4] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
  for (int64_t i = 0; i < count; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) {
      if (i + j * kLanes >= count) break;
      const VecF v = hn::LoadU(f, values + i + j * kLanes);
      sum[j] = hn::MulAdd(v, v, sum[j]);
    }
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(f, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])))));
}

// values[i] = (values[i] * inverse) * weight[i]
inline void scale_values(const float* weight, float inverse, int64_t count, float* values) {
  const TagF f;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VecF v = hn::Mul(hn::LoadU(f, values + i), hn::Set(f, inverse));
    hn::StoreU(hn::Mul(v, hn::LoadU(f, weight + i)), f, values + i);
  }
  for (; i < count; ++i) values[i] = values[i] * inverse * weight[i];
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
