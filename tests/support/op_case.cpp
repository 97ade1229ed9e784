#include "tests/support/op_case.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "rafter/base/random.h"
#include "rafter/ops/rope_kv.h"

namespace rafter::testing {

namespace {

constexpr DType kActivations[] = {DType::f32, DType::bf16, DType::f16};
constexpr DType kBlocks[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                             DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k};

Op make_op(OpKind kind, size_t inputs, size_t outputs, Attrs attrs = {}) {
  Op op;
  op.kind = kind;
  op.name = "case";
  op.attrs = attrs;
  op.inputs.assign(inputs, 0);
  op.outputs.assign(outputs, 0);
  return op;
}

Operand out(DType dtype, const Shape& shape) { return {dtype, shape, Fill::poison, {}, 0, 0, 1}; }
Operand ints(const std::vector<double>& values, const Shape& shape) {
  return {DType::i32, shape, Fill::given, values, 0, 0, 1};
}
Operand ints(const std::vector<double>& values) { return ints(values, {static_cast<int64_t>(values.size())}); }

// ---- matmul

struct MatmulSpec {
  int64_t t, k;
  std::vector<int64_t> n;
  DType activation = DType::f32, weight = DType::f32, output = DType::f32;
  bool bias = false, residual = false, norm = false, swiglu = false;
  int64_t misalign = 0, slack = 0;
};

OpCase matmul_case(const MatmulSpec& s) {
  OpCase test;
  test.op = make_op(OpKind::matmul, 4 + s.n.size(), 1, MatmulAttrs{s.swiglu, 1e-5});
  int64_t n = 0;
  for (const int64_t part : s.n) n += part;
  const Shape y = {s.t, s.swiglu ? n / 2 : n};
  const Fill fill = is_quantised(s.weight) ? Fill::lossless : Fill::normal;
  test.inputs = {{s.activation, {s.t, s.k}, fill, {}, s.slack, 0, 1},
                 s.bias ? Operand{DType::f32, {n}} : Operand{},
                 s.residual ? Operand{s.output, y} : Operand{},
                 s.norm ? Operand{DType::f32, {s.k}, Fill::positive, {}, 0, 0, 1} : Operand{}};
  for (const int64_t part : s.n) test.inputs.push_back({s.weight, {part, s.k}, Fill::normal, {}, 0, s.misalign, 1});
  test.outputs = {out(s.output, y)};
  test.outputs[0].slack_bytes = s.slack;
  if (s.swiglu) test.tolerance_factor = 3;  // a product of two sums
  if (n == 1) test.tolerance_factor = 20;   // one sum alone may cancel
  test.name = fmt::format("T={} K={} N={} {}x{}->{}{}{}{}{}{}{}", s.t, s.k, n, name(s.activation), name(s.weight),
                          name(s.output), s.bias ? " bias" : "", s.residual ? " residual" : "", s.norm ? " norm" : "",
                          s.swiglu ? " swiglu" : "", s.n.size() > 1 ? " parts" : "",
                          s.misalign != 0 ? " misaligned"
                          : s.slack != 0  ? " strided"
                                          : "");
  return test;
}

std::vector<OpCase> matmul_cases() {
  std::vector<OpCase> all;
  const auto add = [&](const MatmulSpec& s) { all.push_back(matmul_case(s)); };
  for (const DType a : kActivations) {
    for (const DType w : kActivations) {
      if (a != w && w != DType::f32 && a != DType::f32) continue;
      for (const int64_t t : {0, 1, 2, 3, 5, 8, 9, 17, 33, 130}) add({t, 96, {40}, a, w, a});
      add({1, 1, {1}, a, w, a});
      add({2, 7, {3}, a, w, a});
      add({5, 257, {65}, a, w, a, true, true});
      add({130, 200, {257}, a, w, a, true, true});
      add({1, 1536, {512, 64, 64}, a, w, a, true, false, true});
      add({4, 576, {576, 192, 192}, a, w, DType::f32, true, false, true});
      add({33, 576, {576, 192, 192}, a, w, a, true});
      add({1, 576, {130, 130}, a, w, a, false, false, true, true});
      add({7, 576, {129, 129}, a, w, a, false, false, true, true});
      add({70, 128, {129, 129}, a, w, a, false, false, false, true});
      add({1, 8960, {24}, a, w, a, false, true});
      add({3, 4864, {46}, a, w, a, false, true});
      add({1, 3584, {37}, a, w, DType::f32, false, false, true});
      add({2, 128, {33}, a, w, a, false, true, false, false, w == DType::f32 ? 4 : 2});
      add({3, 64, {32}, a, w, a, false, false, false, false, 0, 64});
      add({40, 64, {32}, a, w, a, false, false, false, false, 0, 64});
    }
  }
  for (const DType w : kBlocks) {
    const int64_t k = info(w).block_elements == 256 ? 512 : 576;
    for (const int64_t t : {0, 1, 2, 3, 5, 8, 9, 17, 33, 130}) add({t, k, {40}, DType::f32, w, DType::f32});
    add({1, info(w).block_elements, {1}, DType::f32, w, DType::f32});
    add({1, 1536, {257}, DType::f32, w, DType::f32, true, true});
    add({5, k, {130, 66, 66}, DType::f32, w, DType::f32, true, true});
    add({35, k, {130, 66, 66}, DType::f32, w, DType::f32, true, true});
    add({1, k, {129, 129}, DType::f32, w, DType::f32, false, false, false, true});
    add({66, k, {129, 129}, DType::f32, w, DType::f32, false, false, false, true});
    add({1, k, {64}, DType::f32, w, DType::f32, false, false, true});
    add({20, k, {64}, DType::f32, w, DType::f32, false, false, true});
    add({1, k, {31}, DType::bf16, w, DType::bf16});
    add({12, k, {31}, DType::f16, w, DType::f16, true});
    add({3, k, {33}, DType::f32, w, DType::f32, false, false, false, false, 2});
    add({21, k, {33}, DType::f32, w, DType::f32, false, false, false, false, 2, 64});
  }
  return all;
}

// ---- rope_kv and attention

// A block table whose pages are shuffled, so that position and page order differ. Pages past the used ones are -1: a
// kernel that reads them faults.
struct Pages {
  std::vector<double> table;
  int64_t width = 0, count = 0;
};

Pages make_pages(const std::vector<int64_t>& lengths, int64_t spare_columns) {
  Pages pages;
  for (const int64_t length : lengths) pages.width = std::max(pages.width, (length + kPageTokens - 1) / kPageTokens);
  pages.width += spare_columns;
  for (const int64_t length : lengths) pages.count += (length + kPageTokens - 1) / kPageTokens;
  int64_t next = 0;
  for (const int64_t length : lengths) {
    const int64_t used = (length + kPageTokens - 1) / kPageTokens;
    for (int64_t i = 0; i < pages.width; ++i)
      pages.table.push_back(i < used ? static_cast<double>(pages.count - 1 - next++) : -1);
  }
  pages.count = std::max<int64_t>(pages.count, 1);
  return pages;
}

struct RopeSpec {
  std::vector<double> positions;
  bool one_sequence = true;
  int64_t q_heads, kv_heads, dim;
  DType activation = DType::f32, cache = DType::f32;
  bool interleaved = false, norms = false;
};

OpCase rope_case(const RopeSpec& s) {
  OpCase test;
  const auto t = static_cast<int64_t>(s.positions.size());
  test.op = make_op(OpKind::rope_kv, 6, 3, RopeKvAttrs{s.q_heads, s.kv_heads, s.dim, s.interleaved, 1e-6});
  std::vector<int64_t> lengths;
  double longest = 0;
  for (const double p : s.positions) {
    longest = std::max(longest, p);
    lengths.push_back(static_cast<int64_t>(p) + 1);
  }
  if (s.one_sequence) lengths = {static_cast<int64_t>(longest) + 1};
  const Pages pages = make_pages(lengths, 1);
  std::vector<double> frequency;
  for (int64_t i = 0; i < s.dim / 2; ++i)
    frequency.push_back(std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(s.dim)));
  const Operand norm = s.norms ? Operand{DType::f32, {s.dim}, Fill::positive, {}, 0, 0, 1} : Operand{};
  const Shape cache = {pages.count, s.kv_heads, kPageTokens, s.dim};
  test.inputs = {{s.activation, {t, (s.q_heads + 2 * s.kv_heads) * s.dim}},
                 ints(s.positions),
                 ints(pages.table, {static_cast<int64_t>(lengths.size()), pages.width}),
                 {DType::f32, {s.dim / 2}, Fill::given, frequency, 0, 0, 1},
                 norm,
                 norm};
  test.outputs = {out(s.activation, {t, s.q_heads * s.dim}), {s.cache, cache}, {s.cache, cache}};
  test.tolerance_factor = longest > 1000 ? 400 : 20;  // an f32 angle is good to position x 2^-24
  test.name = fmt::format("T={} last={} heads={}/{} D={} {} cache {}{}{}{}", t, longest, s.q_heads, s.kv_heads, s.dim,
                          name(s.activation), name(s.cache), s.interleaved ? " interleaved" : "", s.norms ? " norms" : "",
                          s.one_sequence ? "" : " batch");
  return test;
}

std::vector<OpCase> rope_cases() {
  std::vector<OpCase> all;
  const auto run = [](int64_t from, int64_t count) {
    std::vector<double> positions;
    for (int64_t i = 0; i < count; ++i) positions.push_back(static_cast<double>(from + i));
    return positions;
  };
  for (const auto& [activation, cache] :
       {std::pair{DType::f32, DType::f32}, {DType::f32, DType::f16}, {DType::bf16, DType::bf16}, {DType::f16, DType::f16}}) {
    for (const bool interleaved : {false, true}) {
      all.push_back(rope_case({run(0, 1), true, 1, 1, 2, activation, cache, interleaved}));
      all.push_back(rope_case({run(5, 33), true, 9, 3, 64, activation, cache, interleaved}));
      all.push_back(rope_case({run(0, 5), true, 6, 2, 10, activation, cache, interleaved, true}));
      all.push_back(rope_case({run(1000, 3), true, 12, 2, 128, activation, cache, interleaved, true}));
      all.push_back(rope_case({{3, 40, -1, 0, 16}, false, 4, 4, 24, activation, cache, interleaved}));
      all.push_back(rope_case({{31}, false, 12, 2, 128, activation, cache, interleaved}));
    }
  }
  all.push_back(rope_case({{}, true, 4, 2, 16}));
  all.push_back(rope_case({run(131000, 2), true, 2, 1, 128}));
  return all;
}

struct AttentionSpec {
  OpKind kind;
  std::vector<int64_t> lengths;  // keys per sequence; prefill has one
  int64_t tokens;                // prefill: new tokens, the last of the keys
  int64_t q_heads, kv_heads, dim;
  DType activation = DType::f32, cache = DType::f32;
  double scale = 1;  // of the queries
  bool padding = false;
};

OpCase attention_case(const AttentionSpec& s) {
  OpCase test;
  const bool prefill = s.kind == OpKind::attention_prefill;
  test.op = make_op(s.kind, 5, 1, AttentionAttrs{s.q_heads, s.kv_heads, s.dim, 1.0 / std::sqrt(static_cast<double>(s.dim))});
  const Pages pages = make_pages(s.lengths, 2);
  std::vector<double> positions;
  for (int64_t i = 0; prefill && i < s.tokens; ++i) positions.push_back(static_cast<double>(s.lengths[0] - s.tokens + i));
  if (!prefill) {
    for (const int64_t length : s.lengths) positions.push_back(static_cast<double>(length - 1));
  }
  const Shape cache = {pages.count, s.kv_heads, kPageTokens, s.dim};
  // Slots past each sequence's length hold NaN: 0 x NaN must not leak.
  Random random(99);
  std::vector<double> k, v;
  std::vector<int64_t> valid(static_cast<size_t>(pages.count), 0);
  for (size_t sequence = 0; sequence < s.lengths.size(); ++sequence) {
    for (int64_t p = 0; p < s.lengths[sequence]; p += kPageTokens) {
      const auto page =
          static_cast<size_t>(pages.table[sequence * static_cast<size_t>(pages.width) + static_cast<size_t>(p / kPageTokens)]);
      valid[page] = std::min<int64_t>(kPageTokens, s.lengths[sequence] - p);
    }
  }
  for (int64_t page = 0; page < pages.count; ++page) {
    for (int64_t row = 0; row < s.kv_heads * kPageTokens; ++row) {
      for (int64_t i = 0; i < s.dim; ++i) {
        const bool live = row % kPageTokens < valid[static_cast<size_t>(page)];
        k.push_back(live ? random.normal() : std::nan(""));
        v.push_back(live ? random.normal() : std::nan(""));
      }
    }
  }
  // A padding row: its position says so and its table row is never read.
  if (s.padding) positions.back() = -1;
  const auto t = static_cast<int64_t>(positions.size());
  test.inputs = {{s.activation, {t, s.q_heads * s.dim}, Fill::normal, {}, 0, 0, s.scale},
                 {s.cache, cache, Fill::given, k, 0, 0, 1},
                 {s.cache, cache, Fill::given, v, 0, 0, 1},
                 ints(pages.table, {static_cast<int64_t>(s.lengths.size()), pages.width}),
                 ints(positions)};
  test.outputs = {out(s.activation, {t, s.q_heads * s.dim})};
  test.tolerance_factor = s.scale > 1 ? 40 : 4;
  test.name = fmt::format("T={} keys={} heads={}/{} D={} {} cache {}{}{}", t, s.lengths[0], s.q_heads, s.kv_heads, s.dim,
                          name(s.activation), name(s.cache), s.scale != 1 ? " peaked" : "", s.padding ? " padding" : "");
  return test;
}

std::vector<OpCase> attention_cases(OpKind kind) {
  std::vector<OpCase> all;
  for (const auto& types :
       {std::pair{DType::f32, DType::f32}, {DType::f32, DType::f16}, {DType::bf16, DType::bf16}, {DType::f16, DType::f16}}) {
    const auto add = [&](std::vector<int64_t> lengths, int64_t tokens, int64_t q, int64_t kv, int64_t dim, double scale = 1,
                         bool padding = false) {
      all.push_back(attention_case({kind, std::move(lengths), tokens, q, kv, dim, types.first, types.second, scale, padding}));
    };
    if (kind == OpKind::attention_decode) {
      for (const int64_t keys : {1, 2, 15, 16, 17, 33, 100, 1000}) add({keys}, 1, 12, 2, 128);
      add({513}, 1, 32, 8, 128);
      add({300, 1, 16, 77}, 1, 9, 3, 64);
      add({65, 3}, 1, 4, 4, 256);
      add({40}, 1, 2, 1, 24);
      add({129}, 1, 5, 5, 8);
      add({50, 60, 20}, 1, 6, 2, 96, 30);
      add({50, 20}, 1, 6, 2, 64, 1, true);
      add({4100}, 1, 14, 2, 64);
    } else {
      for (const int64_t tokens : {1, 2, 5, 16, 33, 130}) add({tokens}, tokens, 12, 2, 128);
      add({100}, 40, 9, 3, 64);
      add({17}, 1, 9, 3, 64);
      add({300}, 257, 4, 4, 64);
      add({77}, 70, 2, 1, 24);
      add({35}, 20, 4, 1, 256);
      add({70}, 65, 6, 2, 128, 30);
      add({200}, 7, 32, 8, 128);
    }
  }
  return all;
}

// ---- the small ones

std::vector<OpCase> embed_cases() {
  std::vector<OpCase> all;
  const auto add = [&](const std::vector<double>& tokens, int64_t vocab, int64_t width, DType table, DType activation) {
    OpCase test;
    test.op = make_op(OpKind::embed, 2, 1);
    test.inputs = {ints(tokens), {table, {vocab, width}}};
    test.outputs = {out(activation, {static_cast<int64_t>(tokens.size()), width})};
    test.name = fmt::format("T={} V={} H={} {}->{}", tokens.size(), vocab, width, name(table), name(activation));
    all.push_back(test);
  };
  for (const DType activation : kActivations) {
    for (const DType table : kActivations) add({0, 6, 3, -1, 6, 7}, 7, 37, table, activation);
    for (const DType table : kBlocks) add({4, 0, 4}, 5, 512, table, activation);
  }
  add({}, 3, 8, DType::f32, DType::f32);
  add({2}, 3, 1, DType::f32, DType::f32);
  add({150000}, 151936, 64, DType::bf16, DType::bf16);
  return all;
}

std::vector<OpCase> rmsnorm_cases() {
  std::vector<OpCase> all;
  for (const DType activation : kActivations) {
    for (const auto& [t, h] : {std::pair<int64_t, int64_t>{1, 1},
                               {3, 7},
                               {5, 576},
                               {1, 1536},
                               {2, 3584},
                               {4, 4864},
                               {17, 46 * 7},
                               {1, 16384},
                               {0, 64},
                               {2, 70001}}) {
      for (const double scale : {1.0, activation == DType::f16 ? 0.01 : 1e-12, activation == DType::f16 ? 100.0 : 1e15}) {
        OpCase test;
        test.op = make_op(OpKind::rmsnorm, 2, 1, RmsNormAttrs{1e-5});
        test.inputs = {{activation, {t, h}, Fill::normal, {}, 32, 0, scale}, {DType::f32, {h}, Fill::positive, {}, 0, 0, 1}};
        test.outputs = {out(activation, {t, h})};
        test.name = fmt::format("T={} H={} {} scale {}", t, h, name(activation), scale);
        all.push_back(test);
      }
    }
  }
  return all;
}

std::vector<OpCase> swiglu_cases() {
  std::vector<OpCase> all;
  for (const DType activation : kActivations) {
    for (const auto& [t, f] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {1, 1536}, {33, 101}, {2, 8960}, {0, 4}}) {
      OpCase test;
      test.op = make_op(OpKind::swiglu, 1, 1);
      test.inputs = {{activation, {t, 2 * f}, Fill::normal, {}, 0, 0, 20}};
      test.outputs = {out(activation, {t, f})};
      test.name = fmt::format("T={} F={} {}", t, f, name(activation));
      all.push_back(test);
    }
  }
  return all;
}

std::vector<OpCase> argmax_cases() {
  std::vector<OpCase> all;
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto given = [&](const char* what, DType activation, const std::vector<double>& values, int64_t rows) {
    OpCase test;
    test.op = make_op(OpKind::argmax, 1, 1);
    test.inputs = {{activation, {rows, static_cast<int64_t>(values.size()) / rows}, Fill::given, values, 0, 0, 1}};
    test.outputs = {out(DType::i32, {rows})};
    test.name = fmt::format("{} {}", what, name(activation));
    all.push_back(test);
  };
  for (const DType activation : kActivations) {
    given("ties", activation, {1, 5, 5, 2, 5, 0, 7, 7}, 2);
    given("all -inf", activation, {-inf, -inf, -inf}, 1);
    given("NaN passed over", activation, {nan, -3, nan, -2, nan, nan, nan, nan}, 2);
    given("all NaN", activation, {nan, nan, nan}, 1);
    given("+inf", activation, {1, inf, inf, nan}, 1);
    given("one", activation, {-4}, 1);
    std::vector<double> tied(70000, 1.0);
    tied[69000] = tied[69999] = 2.0;
    given("a late tie", activation, tied, 1);
    for (const auto& [t, v] : {std::pair<int64_t, int64_t>{1, 151936}, {3, 49152}, {65, 1000}, {2, 1023}}) {
      OpCase test;
      test.op = make_op(OpKind::argmax, 1, 1);
      test.inputs = {{activation, {t, v}}};
      test.outputs = {out(DType::i32, {t})};
      test.name = fmt::format("T={} V={} {}", t, v, name(activation));
      all.push_back(test);
    }
  }
  return all;
}

std::vector<OpCase> advance_cases() {
  std::vector<OpCase> all;
  for (const int64_t t : {1, 3, 300}) {
    OpCase test;
    std::vector<double> next, position;
    for (int64_t i = 0; i < t; ++i) {
      next.push_back(static_cast<double>(i * 7));
      position.push_back(i % 5 == 4 ? -1 : static_cast<double>(i));
    }
    test.op = make_op(OpKind::advance, 1, 2);
    test.inputs = {ints(next)};
    test.outputs = {out(DType::i32, {t}), ints(position)};
    test.name = fmt::format("T={}", t);
    all.push_back(test);
  }
  return all;
}

}  // namespace

std::vector<OpCase> cases(OpKind kind) {
  switch (kind) {
    case OpKind::embed:
      return embed_cases();
    case OpKind::rmsnorm:
      return rmsnorm_cases();
    case OpKind::matmul:
      return matmul_cases();
    case OpKind::rope_kv:
      return rope_cases();
    case OpKind::attention_prefill:
    case OpKind::attention_decode:
      return attention_cases(kind);
    case OpKind::swiglu:
      return swiglu_cases();
    case OpKind::argmax:
      return argmax_cases();
    case OpKind::advance:
      return advance_cases();
  }
  return {};
}

}  // namespace rafter::testing
