// Sixteen weight rows of f32, f16 or bf16 times prepared rows of x.
// Measured on a Zen 4, of 16 multiply-adds a cycle: 15 for four tokens and more; one token reads 30 bytes of f32 or 17 of
// bf16 a cycle, more than memory gives.
#include <cstring>

#include "rafter/base/simd_targets.h"
#include "rafter/kernels/matmul/cpu_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/matmul/cpu_plain.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
matmul_cpu::PlainKernels make_plain_kernels() { return {}; }
#else

using matmul_cpu::kRows;
using matmul_cpu::Prepared;

// Each product is one vector of partial sums, added to in the order of K and folded at the end: a result does not depend
// on the rows and tokens it shares a tile with.
template <typename W, int kTileRows, int kTileTokens>
HWY_INLINE void multiply_tile(const uint8_t* rows, int64_t stride, const Prepared& x, float* z) {
  const TagF f;
  VecF sum[kTileRows][kTileTokens];
  for (auto& row : sum) {
    for (VecF& s : row) s = hn::Zero(f);
  }
  const auto step = [&](const auto& load, int64_t i) HWY_ATTR {
    VecF w[kTileRows];
    for (int r = 0; r < kTileRows; ++r) w[r] = load(r);
    for (int t = 0; t < kTileTokens; ++t) {
      const VecF value = hn::LoadU(f, x.values + t * x.k_padded + i);
      for (int r = 0; r < kTileRows; ++r) sum[r][t] = hn::MulAdd(w[r], value, sum[r][t]);
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= x.k; i += kLanes) step([&](int r) HWY_ATTR { return W::load(rows + r * stride + i * W::kBytes); }, i);
  if (i < x.k) {
    step(
        [&](int r) HWY_ATTR {
          uint8_t last[kLanes * W::kBytes] = {};
          std::memcpy(last, rows + r * stride + i * W::kBytes, static_cast<size_t>((x.k - i) * W::kBytes));
          return W::load(last);
        },
        i);
  }
  for (int r = 0; r < kTileRows; ++r) {
    for (int t = 0; t < kTileTokens; ++t) z[t * kRows + r] = hn::GetLane(hn::SumOfLanes(f, sum[r][t]));
  }
}

// Sixteen registers hold sums where there are thirty-two, eight where there are sixteen.
constexpr int kTileTokens = kLanes == 16 ? 4 : 2;

template <typename W>
void multiply_of(const uint8_t* rows, int64_t stride, const Prepared& x, int64_t tokens, float* z) {
  int64_t t = 0;
  for (; t + kTileTokens <= tokens; t += kTileTokens) {
    for (int64_t r = 0; r < kRows; r += 4)
      multiply_tile<W, 4, kTileTokens>(rows + r * stride, stride, x.from(t), z + t * kRows + r);
  }
  for (; t < tokens; ++t) {
    for (int64_t r = 0; r < kRows; r += 8) multiply_tile<W, 8, 1>(rows + r * stride, stride, x.from(t), z + t * kRows + r);
  }
}

void multiply(DType dtype, const void* rows, int64_t stride, const Prepared& x, int64_t tokens, float* z) {
  with_reader(dtype, [&](auto read) { multiply_of<decltype(read)>(static_cast<const uint8_t*>(rows), stride, x, tokens, z); });
}

matmul_cpu::PlainKernels make_plain_kernels() { return {multiply}; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {
HWY_EXPORT(make_plain_kernels);
namespace matmul_cpu {
PlainKernels plain_kernels() { return HWY_DYNAMIC_DISPATCH(make_plain_kernels)(); }
}  // namespace matmul_cpu
}  // namespace rafter
#endif
