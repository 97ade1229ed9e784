// 02_vector: a row in vectors of floats, with four sums of squares that do not wait for each other.
// Measured on one core of a Zen 4, 64 rows of 576: 60 us by 01_naive, 13 us here.
#include "rafter/kernels/norm/cpu_vector.h"

#include <algorithm>
#include <cmath>

#include "rafter/base/simd_targets.h"
#include "rafter/base/threads.h"
#include "rafter/ops/rmsnorm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/norm/cpu_vector.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"
#include "rafter/kernels/row_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

using NormRow = void (*)(const Tensor& x, const float* weight, double epsilon, const Tensor& y, int64_t t);

#if HWY_TARGET == HWY_SCALAR
NormRow make_norm_row() { return nullptr; }
#else

struct Piece {
  HWY_ALIGN float value[kPiece];
};

// Values begin .. begin + count of row t; zeros after them.
void load_piece(const Tensor& x, int64_t t, int64_t begin, int64_t count, Piece& piece) {
  load_floats(x.dtype, x.row(t) + row_bytes(x.dtype, begin), count, piece.value);
  std::fill(piece.value + count, piece.value + kPiece, 0.0f);
}

void norm_row(const Tensor& x, const float* weight, double epsilon, const Tensor& y, int64_t t) {
  const int64_t width = x.shape.last();
  Piece piece;
  double squares = 0;
  for (int64_t begin = 0; begin < width; begin += kPiece) {
    load_piece(x, t, begin, std::min(kPiece, width - begin), piece);
    squares += piece_squares(piece.value, kPiece);
  }
  const auto inverse = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(width) + epsilon));
  for (int64_t begin = 0; begin < width; begin += kPiece) {
    const int64_t count = std::min(kPiece, width - begin);
    if (width > kPiece) load_piece(x, t, begin, count, piece);
    scale_values(weight + begin, inverse, count, piece.value);
    store_floats(y.dtype, piece.value, count, y.row(t) + row_bytes(y.dtype, begin));
  }
}

NormRow make_norm_row() { return norm_row; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {

namespace {

HWY_EXPORT(make_norm_row);

constexpr int64_t kWorthSharing = 1 << 14;  // values; below, waking a thread takes longer than the work

void launch(const OpView& op, Stream&) {
  const auto norm_row = HWY_DYNAMIC_DISPATCH(make_norm_row)();
  const Tensor& x = op.inputs[rmsnorm::x];
  const int64_t rows = x.shape.rows(), grain = std::max<int64_t>(1, kWorthSharing / std::max<int64_t>(1, x.shape.last()));
  cpu_threads().for_range(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      norm_row(x, op.inputs[rmsnorm::weight].as<float>(), op.attrs<RmsNormAttrs>().epsilon, op.outputs[rmsnorm::y], t);
    }
  });
}

}  // namespace

Kernel rmsnorm_cpu_vector() {
  return {.op = OpKind::rmsnorm,
          .device = DeviceKind::cpu,
          .name = "02_vector",
          .step = 2,
          .supports = [](const OpView&) { return HWY_DYNAMIC_DISPATCH(make_norm_row)() != nullptr; },
          .launch = launch};
}

}  // namespace rafter
#endif
