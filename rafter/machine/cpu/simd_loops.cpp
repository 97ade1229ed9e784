#include "rafter/machine/cpu/simd_loops.h"

#include "rafter/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/machine/cpu/simd_loops.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rafter::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
const SimdLoops* make_simd_loops() { return nullptr; }
#else

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<int32_t>;
using VecF = hn::Vec<Floats>;
using VecI = hn::Vec<Ints>;

constexpr int64_t kVector = static_cast<int64_t>(sizeof(VecF));
constexpr int kUnroll = 8;   // loads in flight
constexpr int kChains = 12;  // enough for two units of four or five cycles; with operands they fit in 16 registers

// A value that the compiler must take as needed, at the cost of nothing.
template <typename V>
HWY_INLINE void keep(const V& v) {
#if HWY_ARCH_X86
  asm volatile("" ::"v"(v.raw));
#else
  asm volatile("" ::"w"(v.raw));
#endif
}

HWY_INLINE const float* floats(const char* p) { return reinterpret_cast<const float*>(p); }
HWY_INLINE float* floats(char* p) { return reinterpret_cast<float*>(p); }

void read(const char* from, int64_t bytes) {
  const Ints d;
  VecI sum[kUnroll];
  for (VecI& each : sum) each = hn::Zero(d);
  for (const char* end = from + bytes; from < end; from += kUnroll * kVector) {
    for (int u = 0; u < kUnroll; ++u) {
      sum[u] = hn::Add(sum[u], hn::Load(d, reinterpret_cast<const int32_t*>(from + u * kVector)));
    }
  }
  for (const VecI& each : sum) keep(each);
}

void write(char* to, int64_t bytes) {
  const VecF value = hn::Set(Floats(), 1.5f);
  for (char* end = to + bytes; to < end; to += kUnroll * kVector) {
    for (int u = 0; u < kUnroll; ++u) hn::Store(value, Floats(), floats(to + u * kVector));
    asm volatile("" ::: "memory");
  }
}

void stream(char* to, int64_t bytes) {
  const VecF value = hn::Set(Floats(), 1.5f);
  for (char* end = to + bytes; to < end; to += kUnroll * kVector) {
    for (int u = 0; u < kUnroll; ++u) hn::Stream(value, Floats(), floats(to + u * kVector));
  }
  hwy::FlushStream();
}

void copy(const char* from, char* to, int64_t bytes) {
  for (const char* end = from + bytes; from < end; from += kUnroll * kVector, to += kUnroll * kVector) {
    for (int u = 0; u < kUnroll; ++u) {
      hn::Stream(hn::Load(Floats(), floats(from + u * kVector)), Floats(), floats(to + u * kVector));
    }
  }
  hwy::FlushStream();
}

void triad(const char* a, const char* b, float scale, char* to, int64_t bytes) {
  const VecF factor = hn::Set(Floats(), scale);
  for (int64_t at = 0; at < bytes; at += kUnroll * kVector) {
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t here = at + u * kVector;
      const VecF value = hn::MulAdd(factor, hn::Load(Floats(), floats(b + here)), hn::Load(Floats(), floats(a + here)));
      hn::Stream(value, Floats(), floats(to + here));
    }
  }
  hwy::FlushStream();
}

// Values that stay near 1 and differ from lane to lane: x = 0.999 x + about 0.001.
double fma(int64_t rounds) {
  const Floats d;
  const VecF factor = hn::Set(d, 0.999f), more = hn::MulAdd(hn::Iota(d, 0.0f), hn::Set(d, 1e-6f), hn::Set(d, 1e-3f));
  VecF x[kChains];
  for (int c = 0; c < kChains; ++c) x[c] = hn::Set(d, 1.0f + 0.01f * static_cast<float>(c));
  for (int64_t round = 0; round < rounds; ++round) {
    for (int c = 0; c < kChains; ++c) x[c] = hn::MulAdd(x[c], factor, more);
  }
  for (const VecF& each : x) keep(each);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

#if HWY_TARGET == HWY_AVX3_DL

constexpr const char* kInt8Remark = "";

double int8_dot(int64_t rounds) {
  const Ints d;
  const VecI a = hn::Iota(d, 0x01020304), b = hn::Iota(d, 0x7f03f105);
  VecI sum[kChains];
  for (VecI& each : sum) each = hn::Zero(d);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int c = 0; c < kChains; ++c) {
      // As assembly, since this version of Highway does not ask the compiler for AVX512_VNNI, though it asks the machine. A
      // variable of its own keeps the sum in a register.
      auto total = sum[c].raw;
      asm("vpdpbusd %2, %1, %0" : "+v"(total) : "v"(a.raw), "v"(b.raw));
      sum[c].raw = total;
    }
  }
  for (const VecI& each : sum) keep(each);
  return 2.0 * kChains * 4 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

#else

constexpr const char* kInt8Remark = "products of 16-bit numbers: no byte dot product is used here";

double int8_dot(int64_t rounds) {
  const Ints d;
  const hn::Repartition<int16_t, Ints> d16;
  const auto a = hn::Iota(d16, 3);
  auto b = hn::Iota(d16, 5);
  constexpr int kPairs = kChains / 2;  // a chain has two sums where the machine needs them
  VecI lower[kPairs], upper[kPairs];
  for (int c = 0; c < kPairs; ++c) lower[c] = upper[c] = hn::Zero(d);
  for (int64_t round = 0; round < rounds; ++round) {
    for (int c = 0; c < kPairs; ++c) lower[c] = hn::ReorderWidenMulAccumulate(d, a, b, lower[c], upper[c]);
      // Else the product, always the same, is taken out of the loop.
#if HWY_TARGET == HWY_EMU128
    asm volatile("" : "+m"(b));  // an array there
#elif HWY_ARCH_X86
    asm volatile("" : "+v"(b.raw));
#else
    asm volatile("" : "+w"(b.raw));
#endif
  }
  for (int c = 0; c < kPairs; ++c) keep(hn::RearrangeToOddPlusEven(lower[c], upper[c]));
  return 2.0 * kPairs * 2 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

#endif  // HWY_TARGET == HWY_AVX3_DL

const SimdLoops* make_simd_loops() {
  static constexpr SimdLoops loops = {read, write, stream, copy, triad, fma, int8_dot, kInt8Remark};
  return &loops;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter::cpu {

namespace {
HWY_EXPORT(make_simd_loops);
}  // namespace

const SimdLoops* simd_loops() { return HWY_DYNAMIC_DISPATCH(make_simd_loops)(); }

}  // namespace rafter::cpu
#endif
