// Attention over pages of the cache in vectors: a key a lane, rows of queries sharing what they load.
#include <algorithm>
#include <cstring>
#include <limits>

#include "rafter/kernels/attention/cpu_parts.h"
#include "rafter/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/attention/cpu_block.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "rafter/kernels/float_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
attention_cpu::BlockKernels make_attention_kernels() { return {}; }
#else

using attention_cpu::Keys;
using attention_cpu::padded;
using attention_cpu::State;

// Keys are taken two pages at a time, so that a query value, once broadcast, serves two vectors of scores.
constexpr int kPair = 2 * kPageTokens;
constexpr int kParts = kPair / kLanes;          // vectors that hold a pair's scores
constexpr int kTile = std::max(1, kLanes / 4);  // rows that share the loads of keys and values: what registers allow
constexpr int kColumns = 4;                     // vectors of values that share the loads of weights
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// ---- A pair of pages as floats.

// A page's keys are transposed, to [head_dim][16 of 32]: a key a lane, so that scores need no sums across lanes.
template <typename Store>
void transpose_keys(const uint8_t* rows, int64_t row_bytes, float* out, const Store& store) {
  for (int lane = 0; lane < kPageTokens; lane += kLanes) {
    for (int64_t byte = 0; byte < row_bytes; byte += 16) {
      const Words words = load_words(rows + lane * row_bytes + byte, row_bytes);
      for (int i = 0; i < 4; ++i) store(words.word[i], byte / 4 + i, out + lane);
    }
  }
}

void load_keys(DType dtype, const uint8_t* rows, int64_t head_dim, float* out) {
  const TagF f;
  const TagU u;
  switch (dtype) {
    case DType::f16:
      return transpose_keys(rows, 2 * head_dim, out, [&](VecU word, int64_t i, float* to) HWY_ATTR {
        hn::StoreU(low_f16(word), f, to + 2 * i * kPair);
        hn::StoreU(high_f16(word), f, to + (2 * i + 1) * kPair);
      });
    case DType::bf16:
      return transpose_keys(rows, 2 * head_dim, out, [&](VecU word, int64_t i, float* to) HWY_ATTR {
        hn::StoreU(hn::BitCast(f, hn::ShiftLeft<16>(word)), f, to + 2 * i * kPair);
        hn::StoreU(hn::BitCast(f, hn::And(word, hn::Set(u, 0xffff0000u))), f, to + (2 * i + 1) * kPair);
      });
    default:
      return transpose_keys(rows, 4 * head_dim, out, [&](VecU word, int64_t i, float* to) HWY_ATTR {
        hn::StoreU(hn::BitCast(f, word), f, to + i * kPair);
      });
  }
}

// [count][padded(head_dim)].
void load_values(DType dtype, const uint8_t* rows, int64_t head_dim, int64_t count, float* out) {
  const int64_t bytes = row_bytes(dtype, head_dim), width = padded(head_dim);
  for (int64_t r = 0; r < count; ++r, out += width) {
    load_floats(dtype, rows + r * bytes, head_dim, out);
    std::fill(out + head_dim, out + width, 0.0f);
  }
}

// ---- Rows against a pair of pages.

// 2^x for x that is not above 0; NaN stays NaN. A polynomial for the fraction (relative error below 2e-8), fitted by least
// squares with the weights of the largest errors raised until all were alike.
HWY_INLINE VecF exp2_below_one(VecF x) {
  const TagF f;
  const TagI i;
  const VecF whole = hn::Round(x), rest = hn::Sub(x, whole);
  VecF y = hn::Set(f, 1.5353360504377633e-4f);
  for (const float c : {1.3398875016719103e-3f, 9.618436917662621e-3f, 5.5503323674201965e-2f, 2.4022647738456726e-1f,
                        6.931471824645996e-1f, 1.0f}) {
    y = hn::MulAdd(y, rest, hn::Set(f, c));
  }
  const VecI exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(i, whole), hn::Set(i, 127)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(f, -126.0f)), hn::Mul(y, hn::BitCast(f, exponent)));
}

// -inf - -inf would be NaN where 2^-inf = 0 is meant.
HWY_INLINE VecF finite_or_zero(VecF top) {
  return hn::IfThenElse(hn::Eq(top, hn::Set(TagF(), kMinusInfinity)), hn::Zero(TagF()), top);
}

template <int kRows>
HWY_INLINE void scores(const float* queries, int64_t width, int64_t head_dim, const float* keys, VecF (*score)[kParts]) {
  const TagF f;
  for (int r = 0; r < kRows; ++r) {
    for (int part = 0; part < kParts; ++part) score[r][part] = hn::Zero(f);
  }
  for (int64_t i = 0; i < head_dim; ++i) {
    VecF key[kParts];
    for (int part = 0; part < kParts; ++part) key[part] = hn::LoadU(f, keys + i * kPair + part * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const VecF q = hn::Set(f, queries[r * width + i]);
      for (int part = 0; part < kParts; ++part) score[r][part] = hn::MulAdd(q, key[part], score[r][part]);
    }
  }
}

// Scores become weights, 2^(score - top), where `top` is the largest so far; factor[r] is what the sums made with the
// old top are to be multiplied by.
template <int kRows>
HWY_INLINE void weigh(VecF (*score)[kParts], int64_t count, State* const* states, float (*weight)[kPair], float* factor) {
  const TagF f;
  HWY_ALIGN float fall[kLanes] = {};
  for (int r = 0; r < kRows; ++r) {
    VecF top = hn::Set(f, states[r]->top);
    for (int part = 0; part < kParts; ++part) {
      const auto valid = hn::Lt(hn::Iota(f, static_cast<float>(part * kLanes)), hn::Set(f, static_cast<float>(count)));
      score[r][part] = hn::IfThenElse(valid, score[r][part], hn::Set(f, kMinusInfinity));
      top = hn::Max(top, score[r][part]);
    }
    top = hn::MaxOfLanes(f, top);
    const VecF base = finite_or_zero(top);
    fall[r] = states[r]->top - hn::GetLane(base);
    states[r]->top = hn::GetLane(top);
    for (int part = 0; part < kParts; ++part) {
      hn::StoreU(exp2_below_one(hn::Sub(score[r][part], base)), f, weight[r] + part * kLanes);
    }
  }
  hn::Store(exp2_below_one(hn::Load(f, fall)), f, factor);
}

// Adds weights to totals, lane by lane.
template <int kRows>
HWY_INLINE void add_weights(const float (*weight)[kPair], const float* factor, State* const* states) {
  const TagF f;
  for (int r = 0; r < kRows; ++r) {
    for (int lane = 0; lane < kPageTokens; lane += kLanes) {
      float* total = states[r]->total + lane;
      const VecF both = hn::Add(hn::LoadU(f, weight[r] + lane), hn::LoadU(f, weight[r] + kPageTokens + lane));
      hn::StoreU(hn::MulAdd(hn::LoadU(f, total), hn::Set(f, factor[r]), both), f, total);
    }
  }
}

// Adds weights times values to kVectors vectors of the sums, from `begin` on.
template <int kRows, int kVectors>
HWY_INLINE void add_columns(const float (*weight)[kPair], const float* factor, int64_t count, const float* values,
                            int64_t width, State* const* states, int64_t begin) {
  const TagF f;
  VecF sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      sum[r][j] = hn::Mul(hn::LoadU(f, states[r]->sum() + begin + j * kLanes), hn::Set(f, factor[r]));
    }
  }
  for (int64_t key = 0; key < count; ++key) {
    VecF v[kVectors];
    for (int j = 0; j < kVectors; ++j) v[j] = hn::LoadU(f, values + key * width + begin + j * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const VecF w = hn::Set(f, weight[r][key]);
      for (int j = 0; j < kVectors; ++j) sum[r][j] = hn::MulAdd(w, v[j], sum[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sum[r][j], f, states[r]->sum() + begin + j * kLanes);
  }
}

// kRows rows against the first `count` keys of a pair.
template <int kRows>
HWY_INLINE void attend_pair(const float* queries, int64_t head_dim, const float* pair, int64_t count, State* const* states) {
  const int64_t width = padded(head_dim);
  const float* values = pair + kPair * width;
  VecF score[kRows][kParts];
  scores<kRows>(queries, width, head_dim, pair, score);
  HWY_ALIGN float weight[kRows][kPair];
  HWY_ALIGN float factor[kLanes];
  weigh<kRows>(score, count, states, weight, factor);
  add_weights<kRows>(weight, factor, states);
  int64_t i = 0;
  for (; i + kColumns * kLanes <= width; i += kColumns * kLanes) {
    add_columns<kRows, kColumns>(weight, factor, count, values, width, states, i);
  }
  for (; i < width; i += kLanes) add_columns<kRows, 1>(weight, factor, count, values, width, states, i);
}

template <int kRows>
void attend_tile(int64_t rows, const float* queries, int64_t head_dim, const float* pair, int64_t count, State* const* states) {
  if (rows == kRows) return attend_pair<kRows>(queries, head_dim, pair, count, states);
  if constexpr (kRows > 1) attend_tile<kRows - 1>(rows, queries, head_dim, pair, count, states);
}

// Up to kTile rows from `first` on that attend to equally many keys of the pair; returns how many it took.
int64_t attend_some(const float* queries, int64_t head_dim, const float* pair, int64_t pair_start, int64_t rows,
                    const int32_t* last, std::byte* states, int64_t first) {
  const auto count = [&](int64_t r) { return std::min<int64_t>(kPair, last[r] + 1 - pair_start); };
  int64_t taken = 1;
  while (taken < kTile && first + taken < rows && count(first + taken) == count(first)) ++taken;
  if (count(first) <= 0) return taken;
  State* tile[kTile];
  for (int64_t r = 0; r < taken; ++r)
    tile[r] = reinterpret_cast<State*>(states + (first + r) * attention_cpu::state_bytes(head_dim));
  attend_tile<kTile>(taken, queries + first * padded(head_dim), head_dim, pair, count(first), tile);
  return taken;
}

// ---- What is handed out.

void load_query(DType dtype, const void* q, int64_t head_dim, float scale, float* out) {
  const TagF f;
  constexpr float kLog2E = 1.44269504f;  // weights are powers of two
  load_floats(dtype, q, head_dim, out);
  std::fill(out + head_dim, out + padded(head_dim), 0.0f);
  for (int64_t i = 0; i < head_dim; i += kLanes)
    hn::StoreU(hn::Mul(hn::LoadU(f, out + i), hn::Set(f, scale * kLog2E)), f, out + i);
}

void start(int64_t head_dim, State* state) {
  std::memset(state, 0, static_cast<size_t>(attention_cpu::state_bytes(head_dim)));
  state->top = kMinusInfinity;
}

// Pages `p` and `p + 1`, as far as they hold positions below `end`.
void load_pair(const Keys& keys, int64_t p, int64_t end, float* pair) {
  const int64_t width = padded(keys.head_dim);
  for (int which = 0; which < 2; ++which) {
    const int64_t count = std::min<int64_t>(kPageTokens, end - (p + which) * kPageTokens);
    if (count <= 0) return;
    const int64_t offset = keys.pages[p + which] * keys.page_bytes;
    load_keys(keys.dtype, reinterpret_cast<const uint8_t*>(keys.k + offset), keys.head_dim, pair + which * kPageTokens);
    load_values(keys.dtype, reinterpret_cast<const uint8_t*>(keys.v + offset), keys.head_dim, count,
                pair + (kPair + which * kPageTokens) * width);
  }
}

void attend(const Keys& keys, int64_t block, int64_t rows, const float* queries, const int32_t* last, float* pair,
            std::byte* states) {
  for (int64_t r = 0; r < rows; ++r) {
    start(keys.head_dim, reinterpret_cast<State*>(states + r * attention_cpu::state_bytes(keys.head_dim)));
  }
  const int64_t end = *std::max_element(last, last + rows) + 1;  // positions
  for (int64_t p = block * attention_cpu::kBlockPages; p < (block + 1) * attention_cpu::kBlockPages; p += 2) {
    if (p * kPageTokens >= end) return;
    load_pair(keys, p, end, pair);
    for (int64_t r = 0; r < rows;) r += attend_some(queries, keys.head_dim, pair, p * kPageTokens, rows, last, states, r);
  }
}

void merge(int64_t head_dim, const State& block, State* whole) {
  const TagF f;
  const VecF old_top = hn::Set(f, whole->top), block_top = hn::Set(f, block.top);
  const VecF top = hn::Max(old_top, block_top);
  const VecF keep = exp2_below_one(hn::Sub(old_top, finite_or_zero(top))),
             take = exp2_below_one(hn::Sub(block_top, finite_or_zero(top)));
  whole->top = hn::GetLane(top);
  const auto add = [&](const float* from, float* to, int64_t count) HWY_ATTR {
    for (int64_t i = 0; i < count; i += kLanes) {
      hn::StoreU(hn::MulAdd(hn::LoadU(f, from + i), take, hn::Mul(hn::LoadU(f, to + i), keep)), f, to + i);
    }
  };
  add(block.total, whole->total, kPageTokens);
  add(block.sum(), whole->sum(), padded(head_dim));
}

void finish(State* whole, DType dtype, int64_t head_dim, void* out) {
  const TagF f;
  VecF total = hn::LoadU(f, whole->total);
  for (int lane = kLanes; lane < kPageTokens; lane += kLanes) total = hn::Add(total, hn::LoadU(f, whole->total + lane));
  const VecF inverse = hn::Set(f, 1.0f / hn::GetLane(hn::SumOfLanes(f, total)));
  float* sum = whole->sum();
  for (int64_t i = 0; i < head_dim; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(f, sum + i), inverse), f, sum + i);
  store_floats(dtype, sum, head_dim, out);
}

attention_cpu::BlockKernels make_attention_kernels() { return {load_query, attend, start, merge, finish}; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {
HWY_EXPORT(make_attention_kernels);
namespace attention_cpu {
BlockKernels block_kernels() { return HWY_DYNAMIC_DISPATCH(make_attention_kernels)(); }
}  // namespace attention_cpu
}  // namespace rafter
#endif
