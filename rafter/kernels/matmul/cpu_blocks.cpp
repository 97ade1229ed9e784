// Sixteen weight rows of a block format times prepared rows of x, in integer dot products.
//
// A group of 32 takes sixteen byte dots, eight for each limb of the activations, and two or three float operations for its
// scales on the same two pipes: 16/19 of the pipes' 32 multiply-adds of 15 bits a cycle is the roof of AVX512_VNNI for q4_1.
// Measured on a Zen 4, multiply-adds a cycle through a panel: q4_1, q5_1, q4_k, q5_k 26; q4_0, q5_0, q8_0 28; q6_k 24; with
// AVX2 alone 12 to 13. Cycles for a group of 16 rows with no panel: q4_1 38 (8.5 bytes of weights a cycle), q8_0 51 (11),
// q4_k 38, q4_0 and q5_k 51, q5_0, q5_1 and q6_k 69.

#include <cstring>

#include "rafter/base/simd_targets.h"
#include "rafter/kernels/matmul/cpu_parts.h"
#include "rafter/kernels/prefetch.h"
#include "rafter/ops/block_formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/matmul/cpu_blocks.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "rafter/kernels/matmul/block_unpack-inl.h"
#include "rafter/kernels/matmul/word_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
matmul_cpu::BlockKernels make_block_kernels() { return {}; }
#else

using matmul_cpu::GroupStats;
using matmul_cpu::kGroup;
using matmul_cpu::kRows;
using matmul_cpu::Prepared;

constexpr int kParts = static_cast<int>(kRows) / kLanes;  // vectors that hold kRows rows

// Words of weights times four activations each.
template <int kWords>
HWY_INLINE VecI dot_words(const VecU* words, const int8_t* q) {
  Dot dot;
  for (int i = 0; i < kWords; ++i) dot.add(FourWeights(words[i]), q + 8 * i);
  return dot.total();
}

// Takes the offset of the weights' bytes off a dot product with activations of this sum.
HWY_INLINE VecI less_offset(VecI dot, int offset, int32_t sum) { return hn::Sub(dot, hn::Set(TagI(), offset * sum)); }

// A group's dot product, scaled and added: the one place that says how a product is rounded.
template <Kind kKind>
HWY_INLINE VecF add_group(VecF sum, VecF dot, VecF scale, VecF minimum, const GroupStats& x) {
  const TagF f;
  VecF term = hn::Mul(scale, dot);
  if constexpr (kKind == Kind::affine) term = hn::MulAdd(minimum, hn::Set(f, x.sum), term);
  return hn::MulAdd(term, hn::Set(f, x.scale), sum);
}

// The halves of a split group have factors of their own; their products pass 32 bits, so they are joined in f32.
HWY_INLINE VecF join_halves(VecI first, VecI last, const VecF* multiplier) {
  const TagF f;
  return hn::MulAdd(hn::ConvertTo(f, last), multiplier[1], hn::Mul(hn::ConvertTo(f, first), multiplier[0]));
}

HWY_INLINE VecF to_floats(VecI v) { return hn::ConvertTo(TagF(), v); }

// ---- One row of x: weights go from memory to registers to the result.

template <typename Format>
HWY_INLINE void multiply_once_part(const uint8_t* rows, ptrdiff_t stride, const uint8_t* ahead, const Prepared& x, float* z) {
  constexpr Kind kKind = Format::kKind;
  constexpr int kShare = kLanes * Format::kBlockBytes / Format::kGroupsPerBlock;  // bytes of a group
  VecF sum = hn::Zero(TagF());
  for_each_group(Format(), rows, stride, 0, x.k / kGroup, [&](int64_t g, const Group& w) HWY_ATTR {
    for (int line = 0; line < kShare; line += 64) prefetch(ahead + g * kShare + line);
    const int8_t* q = x.q + 2 * g * kGroup;
    const GroupStats& stats = x.stats[g];
    VecF dot;
    if constexpr (kKind == Kind::split) {
      const VecF multiplier[2] = {to_floats(w.multiplier[0]), to_floats(w.multiplier[1])};
      dot = join_halves(less_offset(dot_words<4>(w.word, q), Format::kOffset, stats.half[0]),
                        less_offset(dot_words<4>(w.word + 4, q + kGroup), Format::kOffset, stats.half[1]), multiplier);
    } else {
      dot = to_floats(less_offset(dot_words<8>(w.word, q), Format::kOffset, stats.half[0] + stats.half[1]));
    }
    sum = add_group<kKind>(sum, dot, w.scale, w.minimum, stats);
  });
  hn::StoreU(sum, TagF(), z);
}

template <typename Format>
void multiply_once_of(const uint8_t* rows, ptrdiff_t stride, const uint8_t* ahead, const Prepared& x, float* z) {
  for (int part = 0; part < kParts; ++part) {
    const ptrdiff_t offset = part * kLanes * stride;
    multiply_once_part<Format>(rows + offset, stride, ahead + offset, x, z + part * kLanes);
  }
}

// ---- Many rows of x: weights go to a panel in the cache, which is then run through for a few rows of x at a time.

// A group of one part of a panel.
struct PanelGroup {
  uint32_t word[8][kLanes];
  float scale[kLanes];
  union {
    float minimum[kLanes];
    float multiplier[2][kLanes];
  };
};

int64_t panel_bytes(int64_t k) { return kParts * (k / kGroup) * static_cast<int64_t>(sizeof(PanelGroup)); }

template <typename Format>
void unpack_of(const uint8_t* rows, ptrdiff_t stride, int64_t groups, PanelGroup* panel) {
  for (int part = 0; part < kParts; ++part) {
    for_each_group(Format(), rows + part * kLanes * stride, stride, 0, groups, [&](int64_t g, const Group& w) HWY_ATTR {
      PanelGroup& out = panel[part * groups + g];
      for (int i = 0; i < 8; ++i) hn::StoreU(w.word[i], TagU(), out.word[i]);
      hn::StoreU(w.scale, TagF(), out.scale);
      if constexpr (Format::kKind == Kind::affine) hn::StoreU(w.minimum, TagF(), out.minimum);
      if constexpr (Format::kKind == Kind::split) {
        hn::StoreU(to_floats(w.multiplier[0]), TagF(), out.multiplier[0]);
        hn::StoreU(to_floats(w.multiplier[1]), TagF(), out.multiplier[1]);
      }
    });
  }
}

// Words kFirst .. kLast - 1 of the panel times activations of several rows of x.
template <int kTokens, int kFirst, int kLast>
HWY_INLINE void dot_panel(const PanelGroup& w, const int8_t* q, int64_t k, VecI* dots) {
  Dot sum[kTokens];
  for (int i = kFirst; i < kLast; ++i) {
    const FourWeights four(hn::LoadU(TagU(), w.word[i]));
    for (int t = 0; t < kTokens; ++t) sum[t].add(four, q + t * 2 * k + 8 * i);
  }
  for (int t = 0; t < kTokens; ++t) dots[t] = sum[t].total();
}

template <Kind kKind, int kTokens>
HWY_INLINE void multiply_tile(const PanelGroup* panel, int offset, const Prepared& x, float* z) {
  const int64_t groups = x.k / kGroup;
  VecF sum[kTokens];
  for (VecF& s : sum) s = hn::Zero(TagF());
  for (int64_t g = 0; g < groups; ++g) {
    const PanelGroup& w = panel[g];
    const GroupStats* stats = x.stats + g;
    const int8_t* q = x.q + 2 * g * kGroup;
    VecI dot[kTokens];
    VecF product[kTokens];
    VecF minimum = hn::Zero(TagF());
    if constexpr (kKind == Kind::split) {
      VecI last[kTokens];
      dot_panel<kTokens, 0, 4>(w, q, x.k, dot);
      dot_panel<kTokens, 4, 8>(w, q, x.k, last);
      const VecF multiplier[2] = {hn::LoadU(TagF(), w.multiplier[0]), hn::LoadU(TagF(), w.multiplier[1])};
      for (int t = 0; t < kTokens; ++t) {
        const GroupStats& s = stats[t * groups];
        product[t] = join_halves(less_offset(dot[t], offset, s.half[0]), less_offset(last[t], offset, s.half[1]), multiplier);
      }
    } else {
      dot_panel<kTokens, 0, 8>(w, q, x.k, dot);
      for (int t = 0; t < kTokens; ++t) {
        const GroupStats& s = stats[t * groups];
        product[t] = to_floats(kKind == Kind::affine ? dot[t] : less_offset(dot[t], offset, s.half[0] + s.half[1]));
      }
      if constexpr (kKind == Kind::affine) minimum = hn::LoadU(TagF(), w.minimum);
    }
    const VecF scale = hn::LoadU(TagF(), w.scale);
    for (int t = 0; t < kTokens; ++t) sum[t] = add_group<kKind>(sum[t], product[t], scale, minimum, stats[t * groups]);
  }
  for (int t = 0; t < kTokens; ++t) hn::StoreU(sum[t], TagF(), z + t * kRows);
}

// Rows of x that share the loads of a panel: as many as leave no register spilled.
constexpr int kTile = kLanes == 16 ? 8 : 4;

// As many tiles of kTokens as there are, and of half of that for the rest.
template <Kind kKind, int kTokens>
void multiply_tiles(const PanelGroup* panel, int offset, const Prepared& x, int64_t tokens, float* z) {
  int64_t t = 0;
  for (; t + kTokens <= tokens; t += kTokens) multiply_tile<kKind, kTokens>(panel, offset, x.from(t), z + t * kRows);
  if constexpr (kTokens > 1) {
    if (t < tokens) multiply_tiles<kKind, kTokens / 2>(panel, offset, x.from(t), tokens - t, z + t * kRows);
  }
}

template <Kind kKind>
void multiply_panel_of(const PanelGroup* panel, int offset, const Prepared& x, int64_t tokens, float* z) {
  for (int part = 0; part < kParts; ++part, panel += x.k / kGroup, z += kLanes) {
    multiply_tiles<kKind, kTile>(panel, offset, x, tokens, z);
  }
}

// ---- The formats by name.

template <typename Body>
void with_format(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::q4_0:
      return body(FormatQ4_0());
    case DType::q4_1:
      return body(FormatQ4_1());
    case DType::q5_0:
      return body(FormatQ5_0());
    case DType::q5_1:
      return body(FormatQ5_1());
    case DType::q8_0:
      return body(FormatQ8_0());
    case DType::q4_k:
      return body(FormatQ4_K());
    case DType::q5_k:
      return body(FormatQ5_K());
    case DType::q6_k:
      return body(FormatQ6_K());
    default:
      return;
  }
}

void unpack(DType dtype, const void* rows, int64_t stride, int64_t k, void* panel) {
  with_format(dtype, [&](auto format) {
    unpack_of<decltype(format)>(static_cast<const uint8_t*>(rows), stride, k / kGroup, static_cast<PanelGroup*>(panel));
  });
}

void multiply_panel(DType dtype, const void* panel, const Prepared& x, int64_t tokens, float* z) {
  with_format(dtype, [&](auto format) {
    using Format = decltype(format);
    multiply_panel_of<Format::kKind>(static_cast<const PanelGroup*>(panel), Format::kOffset, x, tokens, z);
  });
}

void multiply_once(DType dtype, const void* rows, int64_t stride, const void* ahead, const Prepared& x, float* z) {
  with_format(dtype, [&](auto format) {
    multiply_once_of<decltype(format)>(static_cast<const uint8_t*>(rows), stride, static_cast<const uint8_t*>(ahead), x, z);
  });
}

matmul_cpu::BlockKernels make_block_kernels() { return {panel_bytes, unpack, multiply_panel, multiply_once}; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {
HWY_EXPORT(make_block_kernels);
namespace matmul_cpu {
BlockKernels block_kernels() { return HWY_DYNAMIC_DISPATCH(make_block_kernels)(); }
}  // namespace matmul_cpu
}  // namespace rafter
#endif
