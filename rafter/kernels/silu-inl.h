// silu(a) = a / (1 + exp(-a)) in vectors of floats. Compiled once per Highway target; not for HWY_SCALAR.
#if defined(RAFTER_KERNELS_SILU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_KERNELS_SILU_INL_H_
#undef RAFTER_KERNELS_SILU_INL_H_
#else
#define RAFTER_KERNELS_SILU_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "rafter/kernels/row_lanes-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

HWY_INLINE VecF silu(VecF a) {
  const TagF f;
  // Exp is good up to 104, where it has long been infinite. A NaN that Min drops is still in the numerator.
  const VecF e = hn::Exp(f, hn::Min(hn::Neg(a), hn::Set(f, 104.0f)));
  return hn::Div(a, hn::Add(hn::Set(f, 1.0f), e));
}

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
#endif
