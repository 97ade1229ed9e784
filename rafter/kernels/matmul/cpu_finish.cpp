// What follows a tile of products: bias, gate, residual, and the store to y.
#include <cstring>

#include "rafter/base/simd_targets.h"
#include "rafter/kernels/matmul/cpu_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/matmul/cpu_finish.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"
#include "rafter/kernels/silu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
matmul_cpu::FinishKernels make_finish_kernels() { return {}; }
#else

using matmul_cpu::Finish;
using matmul_cpu::kRows;

// kRows values, of which the last ones may be nobody's.
using Columns = float[kRows];

// In vectors of kRows whatever the columns are, so that a value does not depend on its place.
void combine(const Finish& work, const float* z, const float* z_up, const float* bias, const float* bias_up,
             const float* residual, float* y) {
  const TagF f;
  for (int c = 0; c < kRows; c += kLanes) {
    VecF v = hn::LoadU(f, z + c);
    if (bias != nullptr) v = hn::Add(v, hn::LoadU(f, bias + c));
    if (work.z_up != nullptr) {
      VecF up = hn::LoadU(f, z_up + c);
      if (bias_up != nullptr) up = hn::Add(up, hn::LoadU(f, bias_up + c));
      v = hn::Mul(silu(v), up);
    }
    if (residual != nullptr) v = hn::Add(v, hn::LoadU(f, residual + c));
    hn::StoreU(v, f, y + c);
  }
}

const float* padded(const float* values, int64_t columns, Columns& room) {
  if (values == nullptr || columns == kRows) return values;
  std::memset(room, 0, sizeof(Columns));
  std::memcpy(room, values, static_cast<size_t>(columns) * sizeof(float));
  return room;
}

void finish(const Finish& work) {
  Columns bias_room, bias_up_room;
  const float* bias = padded(work.bias, work.columns, bias_room);
  const float* bias_up = padded(work.bias_up, work.columns, bias_up_room);
  const bool direct = work.dtype == DType::f32 && work.columns == kRows;
  for (int64_t t = 0; t < work.tokens; ++t) {
    const int64_t at = t * kRows + work.skip;
    std::byte* y = work.y + t * work.y_stride;
    const std::byte* residual = work.residual != nullptr ? work.residual + t * work.residual_stride : nullptr;
    const float* z_up = work.z_up != nullptr ? work.z_up + at : nullptr;
    if (direct) {
      combine(work, work.z + at, z_up, bias, bias_up, reinterpret_cast<const float*>(residual), reinterpret_cast<float*>(y));
      continue;
    }
    Columns added = {}, result;
    if (residual != nullptr) load_floats(work.dtype, residual, work.columns, added);
    combine(work, work.z + at, z_up, bias, bias_up, residual != nullptr ? added : nullptr, result);
    store_floats(work.dtype, result, work.columns, y);
  }
}

matmul_cpu::FinishKernels make_finish_kernels() { return {finish}; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {
HWY_EXPORT(make_finish_kernels);
namespace matmul_cpu {
FinishKernels finish_kernels() { return HWY_DYNAMIC_DISPATCH(make_finish_kernels)(); }
}  // namespace matmul_cpu
}  // namespace rafter
#endif
