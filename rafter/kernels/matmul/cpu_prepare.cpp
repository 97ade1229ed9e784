// A row of x made ready for the products: converted to floats, normed where the op says so, and quantised to int8.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "rafter/base/simd_targets.h"
#include "rafter/kernels/matmul/cpu_parts.h"
#include "rafter/kernels/quant/groups.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/matmul/cpu_prepare.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"
#include "rafter/kernels/matmul/word_dot-inl.h"
#include "rafter/kernels/row_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
matmul_cpu::PrepareKernels make_prepare_kernels() { return {}; }
#else

using matmul_cpu::GroupStats;
using matmul_cpu::kGroup;
using matmul_cpu::Prepared;

// `values` are padded with zeros to k_padded.
void normalise(const float* norm, double epsilon, int64_t k, int64_t k_padded, float* values) {
  double squares = 0;
  for (int64_t i = 0; i < k_padded; i += kPiece) squares += piece_squares(values + i, std::min(kPiece, k_padded - i));
  scale_values(norm, static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(k) + epsilon)), k, values);
}

// quant/groups.h in vectors: the same numbers to the bit.
void quantise_group(const float* x, int8_t* q, GroupStats& stats) {
  const TagF f;
  const TagI i;
  constexpr int kVectors = static_cast<int>(kGroup) / kLanes;
  VecF v[kVectors];
  VecF top = hn::Zero(f), probe = hn::Zero(f);
  for (int j = 0; j < kVectors; ++j) {
    v[j] = hn::LoadU(f, x + j * kLanes);
    top = hn::Max(top, hn::Abs(v[j]));
    probe = hn::MulAdd(v[j], hn::Zero(f), probe);
  }
  const float scale =
      hn::GetLane(hn::MaxOfLanes(f, top)) / static_cast<float>(quant::kTop) + hn::GetLane(hn::SumOfLanes(f, probe));
  const VecF inverse = hn::Set(f, scale >= FLT_MIN ? 1.0f / scale : 0.0f);
  const auto usable = hn::Gt(inverse, hn::Zero(f));
  for (int half = 0; half < 2; ++half) {
    VecI sum = hn::Zero(i);
    for (int j = half * kVectors / 2; j < (half + 1) * kVectors / 2; ++j) {
      const VecI rounded = hn::NearestInt(hn::IfThenElseZero(usable, hn::Mul(v[j], inverse)));
      store_activations(rounded, q + 2 * j * kLanes);
      sum = hn::Add(sum, rounded);
    }
    stats.half[half] = hn::GetLane(hn::SumOfLanes(i, sum));
  }
  stats.scale = scale;
  stats.sum = static_cast<float>(stats.half[0] + stats.half[1]);
}

void prepare(DType dtype, const void* x, const float* norm, double epsilon, float* row, const Prepared& out) {
  float* values = out.values != nullptr ? out.values : row;
  load_floats(dtype, x, out.k, values);
  std::fill(values + out.k, values + out.k_padded, 0.0f);
  if (norm != nullptr) normalise(norm, epsilon, out.k, out.k_padded, values);
  for (int64_t g = 0; out.q != nullptr && g < out.k / kGroup; ++g) {
    quantise_group(values + g * kGroup, out.q + 2 * g * kGroup, out.stats[g]);
  }
}

matmul_cpu::PrepareKernels make_prepare_kernels() { return {prepare}; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {
HWY_EXPORT(make_prepare_kernels);
namespace matmul_cpu {
PrepareKernels prepare_kernels() { return HWY_DYNAMIC_DISPATCH(make_prepare_kernels)(); }
}  // namespace matmul_cpu
}  // namespace rafter
#endif
