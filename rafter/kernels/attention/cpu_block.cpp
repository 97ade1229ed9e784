#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "rafter/kernels/attention/cpu_parts.h"
#include "rafter/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/attention/cpu_block.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/contrib/math/math-inl.h"
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

constexpr int kParts = kPageTokens / kLanes;   // vectors that hold a page's scores
constexpr int kChains = kLanes == 16 ? 2 : 1;  // sums of a score that do not wait for each other
constexpr int kTile = 4;                       // rows that share the loads of keys and values
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// ---- A page's keys and values as floats.

// Keys are transposed, [head_dim][16]: a key a lane, so that scores need no sums across lanes.
template <typename Store>
void transpose_keys(const uint8_t* rows, int64_t row_bytes, float* out, const Store& store) {
  for (int part = 0; part < kParts; ++part) {
    for (int64_t byte = 0; byte < row_bytes; byte += 16) {
      const Words words = load_words(rows + part * kLanes * row_bytes + byte, row_bytes);
      for (int i = 0; i < 4; ++i) store(words.word[i], byte / 4 + i, out + part * kLanes);
    }
  }
}

void load_keys(DType dtype, const uint8_t* rows, int64_t head_dim, float* out) {
  const TagF f;
  const TagU u;
  switch (dtype) {
    case DType::f16:
      return transpose_keys(rows, 2 * head_dim, out, [&](VecU word, int64_t i, float* to) HWY_ATTR {
        hn::StoreU(low_f16(word), f, to + 2 * i * kPageTokens);
        hn::StoreU(high_f16(word), f, to + (2 * i + 1) * kPageTokens);
      });
    case DType::bf16:
      return transpose_keys(rows, 2 * head_dim, out, [&](VecU word, int64_t i, float* to) HWY_ATTR {
        hn::StoreU(hn::BitCast(f, hn::ShiftLeft<16>(word)), f, to + 2 * i * kPageTokens);
        hn::StoreU(hn::BitCast(f, hn::And(word, hn::Set(u, 0xffff0000u))), f, to + (2 * i + 1) * kPageTokens);
      });
    default:
      return transpose_keys(rows, 4 * head_dim, out, [&](VecU word, int64_t i, float* to) HWY_ATTR {
        hn::StoreU(hn::BitCast(f, word), f, to + i * kPageTokens);
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

// ---- Rows against a page.

HWY_INLINE VecF exp_or_nan(VecF x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(TagF(), x));  // Exp takes NaN for something very small
}

// -inf - -inf would be NaN where exp(-inf) = 0 is meant.
HWY_INLINE VecF finite_or_zero(VecF top) {
  return hn::IfThenElse(hn::Eq(top, hn::Set(TagF(), kMinusInfinity)), hn::Zero(TagF()), top);
}

template <int kRows>
HWY_INLINE void scores(const float* queries, int64_t width, int64_t head_dim, const float* keys, VecF (*score)[kParts]) {
  const TagF f;
  VecF sum[kChains][kRows][kParts];
  for (auto& chain : sum) {
    for (auto& row : chain) {
      for (VecF& s : row) s = hn::Zero(f);
    }
  }
  const auto step = [&](int64_t i, VecF(*into)[kParts]) HWY_ATTR {
    VecF key[kParts];
    for (int part = 0; part < kParts; ++part) key[part] = hn::LoadU(f, keys + i * kPageTokens + part * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const VecF q = hn::Set(f, queries[r * width + i]);
      for (int part = 0; part < kParts; ++part) into[r][part] = hn::MulAdd(q, key[part], into[r][part]);
    }
  };
  int64_t i = 0;
  for (; i + kChains <= head_dim; i += kChains) {
    for (int chain = 0; chain < kChains; ++chain) step(i + chain, sum[chain]);
  }
  if (i < head_dim) step(i, sum[0]);
  for (int r = 0; r < kRows; ++r) {
    for (int part = 0; part < kParts; ++part) {
      score[r][part] = kChains == 2 ? hn::Add(sum[0][r][part], sum[kChains - 1][r][part]) : sum[0][r][part];
    }
  }
}

// Adds weights times values to the sums of kRows states, `factor` being what those are to be multiplied by before.
template <int kRows>
HWY_INLINE void add_values(const float (*weight)[kPageTokens], const float* factor, int64_t count, const float* values,
                           int64_t width, State* const* states) {
  const TagF f;
  const auto columns = [&](auto vectors, int64_t begin) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
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
  };
  int64_t i = 0;
  for (; i + 2 * kLanes <= width; i += 2 * kLanes) columns(std::integral_constant<int, 2>(), i);
  for (; i < width; i += kLanes) columns(std::integral_constant<int, 1>(), i);
}

// kRows rows against the first `count` keys of a page.
template <int kRows>
HWY_INLINE void attend_page(const float* queries, int64_t head_dim, const float* page, int64_t count, State* const* states) {
  const TagF f;
  const int64_t width = padded(head_dim);
  VecF score[kRows][kParts];
  scores<kRows>(queries, width, head_dim, page, score);
  HWY_ALIGN float weight[kRows][kPageTokens];
  HWY_ALIGN float fall[kLanes] = {}, factor[kLanes];
  for (int r = 0; r < kRows; ++r) {
    VecF top = hn::Set(f, states[r]->top);
    for (int part = 0; part < kParts; ++part) {
      const auto valid = hn::Lt(hn::Iota(f, static_cast<float>(part * kLanes)), hn::Set(f, static_cast<float>(count)));
      score[r][part] = hn::IfThenElse(valid, score[r][part], hn::Set(f, kMinusInfinity));
      top = hn::Max(top, score[r][part]);
    }
    top = hn::MaxOfLanes(f, top);
    fall[r] = states[r]->top - hn::GetLane(finite_or_zero(top));
    states[r]->top = hn::GetLane(top);
    for (int part = 0; part < kParts; ++part) {
      hn::StoreU(exp_or_nan(hn::Sub(score[r][part], finite_or_zero(top))), f, weight[r] + part * kLanes);
    }
  }
  hn::Store(exp_or_nan(hn::Load(f, fall)), f, factor);
  for (int r = 0; r < kRows; ++r) {
    for (int lane = 0; lane < kPageTokens; lane += kLanes) {
      float* total = states[r]->total + lane;
      hn::StoreU(hn::MulAdd(hn::LoadU(f, total), hn::Set(f, factor[r]), hn::LoadU(f, weight[r] + lane)), f, total);
    }
  }
  add_values<kRows>(weight, factor, count, page + kPageTokens * width, width, states);
}

// Up to kTile rows from `first` on that attend to equally many keys of the page; returns how many it took.
int64_t attend_some(const float* queries, int64_t head_dim, const float* page, int64_t page_start, int64_t rows,
                    const int32_t* last, std::byte* states, int64_t first) {
  const auto count = [&](int64_t r) { return std::min<int64_t>(kPageTokens, last[r] + 1 - page_start); };
  int64_t taken = 1;
  while (taken < kTile && first + taken < rows && count(first + taken) == count(first)) ++taken;
  if (count(first) <= 0) return taken;
  State* tile[kTile];
  for (int64_t r = 0; r < taken; ++r)
    tile[r] = reinterpret_cast<State*>(states + (first + r) * attention_cpu::state_bytes(head_dim));
  const float* q = queries + first * padded(head_dim);
  switch (taken) {
    case 4:
      attend_page<4>(q, head_dim, page, count(first), tile);
      break;
    case 3:
      attend_page<3>(q, head_dim, page, count(first), tile);
      break;
    case 2:
      attend_page<2>(q, head_dim, page, count(first), tile);
      break;
    default:
      attend_page<1>(q, head_dim, page, count(first), tile);
      break;
  }
  return taken;
}

// ---- What is handed out.

void load_query(DType dtype, const void* q, int64_t head_dim, float scale, float* out) {
  const TagF f;
  load_floats(dtype, q, head_dim, out);
  std::fill(out + head_dim, out + padded(head_dim), 0.0f);
  for (int64_t i = 0; i < head_dim; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(f, out + i), hn::Set(f, scale)), f, out + i);
}

void start(int64_t head_dim, State* state) {
  std::memset(state, 0, static_cast<size_t>(attention_cpu::state_bytes(head_dim)));
  state->top = kMinusInfinity;
}

void attend(const Keys& keys, int64_t block, int64_t rows, const float* queries, const int32_t* last, float* page,
            std::byte* states) {
  for (int64_t r = 0; r < rows; ++r) {
    start(keys.head_dim, reinterpret_cast<State*>(states + r * attention_cpu::state_bytes(keys.head_dim)));
  }
  const int64_t end = *std::max_element(last, last + rows) + 1;  // positions
  for (int64_t p = block * attention_cpu::kBlockPages; p < (block + 1) * attention_cpu::kBlockPages; ++p) {
    const int64_t page_start = p * kPageTokens;
    if (page_start >= end) return;
    const int64_t offset = keys.pages[p] * keys.page_bytes;
    load_keys(keys.dtype, reinterpret_cast<const uint8_t*>(keys.k + offset), keys.head_dim, page);
    load_values(keys.dtype, reinterpret_cast<const uint8_t*>(keys.v + offset), keys.head_dim,
                std::min<int64_t>(kPageTokens, end - page_start), page + kPageTokens * padded(keys.head_dim));
    for (int64_t r = 0; r < rows;) r += attend_some(queries, keys.head_dim, page, page_start, rows, last, states, r);
  }
}

void merge(int64_t head_dim, const State& block, State* whole) {
  const TagF f;
  const VecF old_top = hn::Set(f, whole->top), block_top = hn::Set(f, block.top);
  const VecF top = hn::Max(old_top, block_top);
  const VecF keep = exp_or_nan(hn::Sub(old_top, finite_or_zero(top))),
             take = exp_or_nan(hn::Sub(block_top, finite_or_zero(top)));
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
