// 02_vector: the largest value in vectors, piece by piece; then its first place in the first piece that reached it.
#include "rafter/kernels/sample/cpu_vector.h"

#include <algorithm>
#include <limits>

#include "rafter/base/simd_targets.h"
#include "rafter/base/threads.h"
#include "rafter/ops/argmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/sample/cpu_vector.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

using ArgmaxRow = int32_t (*)(const Tensor& x, int64_t t);

#if HWY_TARGET == HWY_SCALAR
ArgmaxRow make_argmax_row() { return nullptr; }
#else

constexpr int64_t kArgmaxPiece = 512;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

void load_piece(const Tensor& x, int64_t t, int64_t begin, float* piece) {
  const int64_t count = std::min(kArgmaxPiece, x.shape.last() - begin);
  load_floats(x.dtype, x.row(t) + row_bytes(x.dtype, begin), count, piece);
  std::fill(piece + count, piece + kArgmaxPiece, kLowest);
}

// NaN compares false and is passed over.
float largest(const float* piece) {
  const TagF f;
  VecF top[4] = {hn::Set(f, kLowest), hn::Set(f, kLowest), hn::Set(f, kLowest), hn::Set(f, kLowest)};
  for (int64_t i = 0; i < kArgmaxPiece; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) {
      const VecF v = hn::Load(f, piece + i + j * kLanes);
      top[j] = hn::IfThenElse(hn::Gt(v, top[j]), v, top[j]);
    }
  }
  return hn::GetLane(hn::MaxOfLanes(f, hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]))));
}

int32_t argmax_row(const Tensor& x, int64_t t) {
  HWY_ALIGN float piece[kArgmaxPiece];
  float best = kLowest;
  int64_t where = -1;
  for (int64_t begin = 0; begin < x.shape.last(); begin += kArgmaxPiece) {
    load_piece(x, t, begin, piece);
    const float top = largest(piece);
    if (top > best) {
      best = top;
      where = begin;
    }
  }
  if (where < 0) return 0;
  load_piece(x, t, where, piece);
  return static_cast<int32_t>(where + (std::find(piece, piece + kArgmaxPiece, best) - piece));
}

ArgmaxRow make_argmax_row() { return argmax_row; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {

namespace {

HWY_EXPORT(make_argmax_row);

void launch(const OpView& op, Stream&) {
  const auto argmax_row = HWY_DYNAMIC_DISPATCH(make_argmax_row)();
  const Tensor& x = op.inputs[argmax::x];
  cpu_threads().for_range(x.shape[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) op.outputs[argmax::index].as<int32_t>()[t] = argmax_row(x, t);
  });
}

}  // namespace

Kernel argmax_cpu_vector() {
  return {.op = OpKind::argmax,
          .device = DeviceKind::cpu,
          .name = "02_vector",
          .step = 2,
          .supports = [](const OpView&) { return HWY_DYNAMIC_DISPATCH(make_argmax_row)() != nullptr; },
          .launch = launch};
}

}  // namespace rafter
#endif
