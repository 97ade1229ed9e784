// 02_vector: the exponential in vectors, over pieces of rows that stay in the L1 cache.
#include "rafter/kernels/activation/cpu_vector.h"

#include <algorithm>

#include "rafter/base/simd_targets.h"
#include "rafter/base/threads.h"
#include "rafter/ops/swiglu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/activation/cpu_vector.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"
#include "rafter/kernels/silu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

// Values begin .. begin + count of row t of y; count is at most kSwigluPiece.
using SwigluPiece = void (*)(const Tensor& gate_up, const Tensor& y, int64_t t, int64_t begin, int64_t count);

#if HWY_TARGET == HWY_SCALAR
SwigluPiece make_swiglu_piece() { return nullptr; }
#else

constexpr int64_t kSwigluPiece = 256;

void swiglu_piece(const Tensor& gate_up, const Tensor& y, int64_t t, int64_t begin, int64_t count) {
  const TagF f;
  HWY_ALIGN float gate[kSwigluPiece] = {}, up[kSwigluPiece] = {};
  load_floats(gate_up.dtype, gate_up.row(t) + row_bytes(gate_up.dtype, begin), count, gate);
  load_floats(gate_up.dtype, gate_up.row(t) + row_bytes(gate_up.dtype, y.shape.last() + begin), count, up);
  for (int64_t i = 0; i < count; i += kLanes) {
    hn::Store(hn::Mul(silu(hn::Load(f, gate + i)), hn::Load(f, up + i)), f, gate + i);
  }
  store_floats(y.dtype, gate, count, y.row(t) + row_bytes(y.dtype, begin));
}

SwigluPiece make_swiglu_piece() { return swiglu_piece; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {

namespace {

HWY_EXPORT(make_swiglu_piece);

constexpr int64_t kPiece = 256;
constexpr int64_t kWorthSharing = 16;  // pieces; below, waking a thread takes longer than the work

void launch(const OpView& op, Stream&) {
  const auto piece = HWY_DYNAMIC_DISPATCH(make_swiglu_piece)();
  const Tensor &in = op.inputs[swiglu::gate_up], &y = op.outputs[swiglu::y];
  const int64_t width = y.shape.last(), pieces = (width + kPiece - 1) / kPiece;
  cpu_threads().for_range(y.shape.rows() * pieces, kWorthSharing, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kPiece;
      piece(in, y, i / pieces, first, std::min(kPiece, width - first));
    }
  });
}

}  // namespace

Kernel swiglu_cpu_vector() {
  return {.op = OpKind::swiglu,
          .device = DeviceKind::cpu,
          .name = "02_vector",
          .step = 2,
          .supports = [](const OpView&) { return HWY_DYNAMIC_DISPATCH(make_swiglu_piece)() != nullptr; },
          .launch = launch};
}

}  // namespace rafter
#endif
