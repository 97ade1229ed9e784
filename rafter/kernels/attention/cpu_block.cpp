// Attention over pages of the cache in vectors: a key a lane, rows of queries sharing what they load.
#include <algorithm>
#include <cstring>
#include <limits>

#include "rafter/base/simd_targets.h"
#include "rafter/kernels/attention/cpu_parts.h"
#include "rafter/kernels/prefetch.h"

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

// ---- Where keys and values come from.

// Two pages as they lie in the cache: for so few rows that floats made for them would be used but once. The second page
// may be the first again, where the pair has no more.
template <typename Read>
struct Pages {
  const uint8_t *k[2], *v[2];
  const uint8_t *next_k[2], *next_v[2];  // the pages to be read after these, or these again
  int64_t head_dim;

  int64_t row_bytes() const { return head_dim * Read::kBytes; }

  // Calls body(i, vectors of element i of all keys) in order. Sixteen bytes of each key at a time change places with those
  // of its neighbours, so that a key is a lane and scores need no sums across lanes.
  template <typename Body>
  HWY_INLINE void for_each_element(const Body& body) const {
    for (int64_t byte = 0; byte < row_bytes(); byte += 16) {
      prefetch_share(byte);
      Words words[kParts];
      for (int part = 0; part < kParts; ++part) {
        const int lane = part * kLanes;
        words[part] = load_words(k[lane / kPageTokens] + lane % kPageTokens * row_bytes() + byte, row_bytes());
      }
      constexpr int kInWord = 4 / Read::kBytes;
      for (int i = 0; i < 4 * kInWord; ++i) {
        VecF key[kParts];
        for (int part = 0; part < kParts; ++part) key[part] = Read::in_word(words[part].word[i / kInWord], i % kInWord);
        body(byte / Read::kBytes + i, key);
      }
    }
  }
  // Asks memory for as much of the next pages as these give in sixteen bytes of each key, in the order they lie: a little
  // at a time, since a processor with too many requests under way stops and waits for them.
  HWY_INLINE void prefetch_share(int64_t byte) const {
    for (int which = 0; which < 2; ++which) {
      for (int64_t line = byte * kPageTokens; line < (byte + 16) * kPageTokens; line += 64) {
        prefetch(next_k[which] + line);
        prefetch(next_v[which] + line);
      }
    }
  }
  HWY_INLINE VecF value(int64_t key, int64_t i) const {
    return Read::load(v[key / kPageTokens] + key % kPageTokens * row_bytes() + i * Read::kBytes);
  }
};

// The same as floats, made once for many rows: keys [head_dim][32], values [32][padded(head_dim)] with zeros at the end.
struct Panel {
  float *k, *v;
  int64_t head_dim;

  Panel(float* floats, int64_t dim) : k(floats), v(floats + kPair * padded(dim)), head_dim(dim) {}

  template <typename Read>
  void fill(const Pages<Read>& pages, DType dtype, int64_t count) {
    const TagF f;
    pages.for_each_element([&](int64_t i, const VecF* key) HWY_ATTR {
      for (int part = 0; part < kParts; ++part) hn::StoreU(key[part], f, k + i * kPair + part * kLanes);
    });
    const int64_t width = padded(head_dim);
    for (int64_t key = 0; key < count; ++key) {
      float* row = v + key * width;
      const uint8_t* from = pages.v[key / kPageTokens] + key % kPageTokens * pages.row_bytes();
      load_floats(dtype, from, head_dim, row);
      std::fill(row + head_dim, row + width, 0.0f);
    }
  }
  template <typename Body>
  HWY_INLINE void for_each_element(const Body& body) const {
    for (int64_t i = 0; i < head_dim; ++i) {
      VecF key[kParts];
      for (int part = 0; part < kParts; ++part) key[part] = hn::LoadU(TagF(), k + i * kPair + part * kLanes);
      body(i, key);
    }
  }
  HWY_INLINE VecF value(int64_t key, int64_t i) const { return hn::LoadU(TagF(), v + key * padded(head_dim) + i); }
};

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

template <int kRows, typename Source>
HWY_INLINE void scores(const float* queries, const Source& source, VecF (*score)[kParts]) {
  const TagF f;
  const int64_t width = padded(source.head_dim);
  for (int r = 0; r < kRows; ++r) {
    for (int part = 0; part < kParts; ++part) score[r][part] = hn::Zero(f);
  }
  source.for_each_element([&](int64_t i, const VecF* key) HWY_ATTR {
    for (int r = 0; r < kRows; ++r) {
      const VecF q = hn::Set(f, queries[r * width + i]);
      for (int part = 0; part < kParts; ++part) score[r][part] = hn::MulAdd(q, key[part], score[r][part]);
    }
  });
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
template <int kRows, int kVectors, typename Source>
HWY_INLINE void add_columns(const float (*weight)[kPair], const float* factor, int64_t count, const Source& source,
                            State* const* states, int64_t begin) {
  const TagF f;
  VecF sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      sum[r][j] = hn::Mul(hn::LoadU(f, states[r]->sum() + begin + j * kLanes), hn::Set(f, factor[r]));
    }
  }
  for (int64_t key = 0; key < count; ++key) {
    VecF v[kVectors];
    for (int j = 0; j < kVectors; ++j) v[j] = source.value(key, begin + j * kLanes);
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
template <int kRows, typename Source>
HWY_INLINE void attend_pair(const float* queries, const Source& source, int64_t count, State* const* states) {
  VecF score[kRows][kParts];
  scores<kRows>(queries, source, score);
  HWY_ALIGN float weight[kRows][kPair];
  HWY_ALIGN float factor[kLanes];
  weigh<kRows>(score, count, states, weight, factor);
  add_weights<kRows>(weight, factor, states);
  const int64_t width = padded(source.head_dim);
  int64_t i = 0;
  for (; i + kColumns * kLanes <= width; i += kColumns * kLanes) {
    add_columns<kRows, kColumns>(weight, factor, count, source, states, i);
  }
  for (; i < width; i += kLanes) add_columns<kRows, 1>(weight, factor, count, source, states, i);
}

template <int kRows, typename Source>
void attend_tile(int64_t rows, const float* queries, const Source& source, int64_t count, State* const* states) {
  if (rows == kRows) return attend_pair<kRows>(queries, source, count, states);
  if constexpr (kRows > 1) attend_tile<kRows - 1>(rows, queries, source, count, states);
}

// Up to kTile rows from `first` on that attend to equally many keys of the pair; returns how many it took.
template <typename Source>
int64_t attend_some(const float* queries, const Source& source, int64_t pair_start, int64_t rows, const int32_t* last,
                    std::byte* states, int64_t first) {
  const auto count = [&](int64_t r) { return std::min<int64_t>(kPair, last[r] + 1 - pair_start); };
  int64_t taken = 1;
  while (taken < kTile && first + taken < rows && count(first + taken) == count(first)) ++taken;
  if (count(first) <= 0) return taken;
  State* tile[kTile];
  for (int64_t r = 0; r < taken; ++r) {
    tile[r] = reinterpret_cast<State*>(states + (first + r) * attention_cpu::state_bytes(source.head_dim));
  }
  attend_tile<kTile>(taken, queries + first * padded(source.head_dim), source, count(first), tile);
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

// Pages `p` and `p + 1` as far as they hold positions below `end`, where `p` does; the last that does takes the others' place.
template <typename Read>
Pages<Read> pages_of(const Keys& keys, int64_t p, int64_t end) {
  const int64_t last = (end - 1) / kPageTokens;
  Pages<Read> pages;
  pages.head_dim = keys.head_dim;
  for (int which = 0; which < 2; ++which) {
    const int64_t now = keys.pages[std::min(p + which, last)] * keys.page_bytes;
    const int64_t next = keys.pages[std::min(p + 2 + which, last)] * keys.page_bytes;
    pages.k[which] = reinterpret_cast<const uint8_t*>(keys.k + now);
    pages.v[which] = reinterpret_cast<const uint8_t*>(keys.v + now);
    pages.next_k[which] = reinterpret_cast<const uint8_t*>(keys.k + next);
    pages.next_v[which] = reinterpret_cast<const uint8_t*>(keys.v + next);
  }
  return pages;
}

template <typename Read>
void attend_with(const Keys& keys, int64_t block, int64_t rows, const float* queries, const int32_t* last, float* floats,
                 std::byte* states) {
  const int64_t end = *std::max_element(last, last + rows) + 1;  // positions
  const bool once = rows <= kTile && keys.head_dim % kPageTokens == 0 && *std::min_element(last, last + rows) + 1 == end;
  for (int64_t p = block * attention_cpu::kBlockPages; p < (block + 1) * attention_cpu::kBlockPages; p += 2) {
    const int64_t start = p * kPageTokens, count = std::min<int64_t>(kPair, end - start);
    if (count <= 0) return;
    const Pages<Read> pages = pages_of<Read>(keys, p, end);
    if (once) {
      attend_some(queries, pages, start, rows, last, states, 0);
      continue;
    }
    Panel panel(floats, keys.head_dim);
    panel.fill(pages, keys.dtype, count);
    for (int64_t r = 0; r < rows;) r += attend_some(queries, panel, start, rows, last, states, r);
  }
}

void attend(const Keys& keys, int64_t block, int64_t rows, const float* queries, const int32_t* last, float* floats,
            std::byte* states) {
  for (int64_t r = 0; r < rows; ++r) {
    start(keys.head_dim, reinterpret_cast<State*>(states + r * attention_cpu::state_bytes(keys.head_dim)));
  }
  with_reader(keys.dtype, [&](auto read) { attend_with<decltype(read)>(keys, block, rows, queries, last, floats, states); });
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
