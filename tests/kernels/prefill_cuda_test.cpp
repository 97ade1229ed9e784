// The CUDA kernels for many rows beyond what every kernel is held to: shapes large enough for their large tiles, rows wide
// enough for their vectors, and the same bits for a row whatever rows come along.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rafter/base/random.h"
#include "rafter/device/buffer.h"
#include "rafter/device/device.h"
#include "rafter/kernels/all.h"
#include "rafter/kernels/random/random.h"
#include "rafter/ops/rope_kv.h"
#include "tests/support/op_check.h"

namespace rafter::testing {
namespace {

constexpr DeviceId kGpu{DeviceKind::cuda, 0};

class PrefillCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  }

  static const Kernel& kernel(OpKind kind, std::string_view name) {
    for (const Kernel* kernel : registry().kernels(kind, DeviceKind::cuda)) {
      if (kernel->name == name) return *kernel;
    }
    throw std::runtime_error(std::string(name));
  }

  static Outcome run(OpKind kind, std::string_view name, const OpCase& test) {
    Outcome outcome = run_case(kernel(kind, name), test, kGpu, 29);
    EXPECT_TRUE(outcome.supported) << name << " refuses " << test.name;
    EXPECT_EQ(outcome.fault, "") << name << ", case " << test.name;
    return outcome;
  }
};

OpCase make_case(OpKind kind, Attrs attrs, std::vector<Operand> inputs, std::vector<Operand> outputs) {
  OpCase test;
  test.op.kind = kind;
  test.op.attrs = attrs;
  test.op.inputs.assign(inputs.size(), 0);
  test.op.outputs.assign(outputs.size(), 0);
  for (const Operand& operand : inputs) test.name += std::string(name(operand.dtype)) + operand.shape.to_string() + ' ';
  test.inputs = std::move(inputs);
  test.outputs = std::move(outputs);
  return test;
}

// ---- matmul

struct MatmulStep {
  std::string_view name;
  DType x, w;
};

constexpr MatmulStep kSteps[] = {{"02_tiled", DType::f32, DType::f32},         {"02_tiled", DType::bf16, DType::f32},
                                 {"03_tensor_core", DType::bf16, DType::bf16}, {"03_tensor_core", DType::f16, DType::f16},
                                 {"04_int8_blocks", DType::f32, DType::q4_1},  {"04_int8_blocks", DType::f32, DType::q6_k},
                                 {"04_int8_blocks", DType::bf16, DType::q8_0}};

TEST_F(PrefillCuda, MatmulOfManyTiles) {
  for (const MatmulStep& step : kSteps) {
    for (const bool swiglu : {false, true}) {
      const int64_t tokens = 1100, n = 801, k = is_quantised(step.w) ? 512 : 168;
      OpCase test = make_case(OpKind::matmul, MatmulAttrs{swiglu, 1e-5},
                              {{step.x, {tokens, k}, is_quantised(step.w) ? Fill::lossless : Fill::normal},
                               {DType::f32, {2 * n}},
                               {step.x, {tokens, swiglu ? n : 2 * n}},
                               {},
                               {step.w, {n, k}},
                               {step.w, {n, k}}},
                              {{step.x, {tokens, swiglu ? n : 2 * n}, Fill::poison}});
      test.tolerance_factor = 3;
      run(OpKind::matmul, step.name, test);
    }
  }
}

std::vector<double> normals(uint64_t seed, int64_t count) {
  Random random(seed);
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(random.normal());
  return out;
}

// The bytes of the first rows of y for the first `tokens` rows of one x.
std::vector<std::byte> first_rows(const MatmulStep& step, int64_t tokens, int64_t rows, const Kernel& kernel) {
  const int64_t n = 1160, k = 256;
  // Weights in a block format can't be given: their random bits must not depend on the number of tokens.
  const OpCase test = make_case(OpKind::matmul, MatmulAttrs{},
                                {{step.x, {tokens, k}, Fill::given, normals(1, tokens * k)},
                                 {},
                                 {},
                                 {},
                                 {step.w,
                                  {n, k},
                                  is_quantised(step.w) ? Fill::normal : Fill::given,
                                  is_quantised(step.w) ? std::vector<double>{} : normals(2, n * k)}},
                                {{DType::f32, {tokens, n}, Fill::poison}});
  std::vector<std::byte> out = run_case(kernel, test, kGpu, 31).outputs.at(0);
  out.resize(static_cast<size_t>(rows * n * 4));
  return out;
}

TEST_F(PrefillCuda, ARowsBitsDoNotDependOnItsNeighbours) {
  for (const MatmulStep& step : kSteps) {
    const Kernel& matmul = kernel(OpKind::matmul, step.name);
    const auto few = first_rows(step, 17, 17, matmul);
    EXPECT_TRUE(first_rows(step, 40, 17, matmul) == few) << step.name << ' ' << name(step.w);
    EXPECT_TRUE(first_rows(step, 1300, 17, matmul) == few) << step.name << ' ' << name(step.w) << ", large tiles";
  }
}

// ---- attention

// The last `tokens` of 300 positions.
OpCase attention_case(DType dtype, int64_t tokens, int64_t dim) {
  constexpr int64_t kKeys = 300, kHeads = 6, kKvHeads = 2, kPages = (kKeys + kPageTokens - 1) / kPageTokens;
  std::vector<double> pages, positions, q = normals(5, kKeys * kHeads * dim);
  for (int64_t i = 0; i < kPages; ++i) pages.push_back(static_cast<double>(kPages - 1 - i));
  for (int64_t i = kKeys - tokens; i < kKeys; ++i) positions.push_back(static_cast<double>(i));
  q.erase(q.begin(), q.begin() + (kKeys - tokens) * kHeads * dim);
  const Shape cache = {kPages, kKvHeads, kPageTokens, dim};
  const int64_t elements = cache.elements();
  OpCase test =
      make_case(OpKind::attention_prefill, AttentionAttrs{kHeads, kKvHeads, dim, 1 / std::sqrt(static_cast<double>(dim))},
                {{dtype, {tokens, kHeads * dim}, Fill::given, q},
                 {dtype, cache, Fill::given, normals(6, elements)},
                 {dtype, cache, Fill::given, normals(7, elements)},
                 {DType::i32, {1, kPages}, Fill::given, pages},
                 {DType::i32, {tokens}, Fill::given, positions}},
                {{dtype, {tokens, kHeads * dim}, Fill::poison}});
  test.tolerance_factor = 4;
  return test;
}

TEST_F(PrefillCuda, ATokensAttentionDoesNotDependOnItsChunk) {
  for (const auto& [step, dtype] :
       {std::pair{"02_warps", DType::f32}, {"02_warps", DType::bf16}, {"03_flash", DType::bf16}, {"03_flash", DType::f16}}) {
    for (const int64_t dim : {64, 128}) {
      const auto whole = run(OpKind::attention_prefill, step, attention_case(dtype, 300, dim)).outputs.at(0);
      for (const int64_t tokens : {1, 7, 64, 131}) {
        const auto chunk = run(OpKind::attention_prefill, step, attention_case(dtype, tokens, dim)).outputs.at(0);
        EXPECT_TRUE(std::equal(chunk.rbegin(), chunk.rend(), whole.rbegin()))
            << step << ' ' << name(dtype) << ", " << tokens << " tokens";
      }
    }
  }
}

// A padding row in the middle and at the end.
TEST_F(PrefillCuda, PaddingRowsOfAttentionAreZeros) {
  for (const char* step : {"01_naive", "02_warps", "03_flash"}) {
    OpCase test = attention_case(DType::bf16, 90, 64);
    for (const size_t row : {0, 40, 88, 89}) test.inputs[4].values[row] = -1;
    run(OpKind::attention_prefill, step, test);
  }
}

// ---- rows

TEST_F(PrefillCuda, WideRows) {
  for (const DType in : {DType::f32, DType::f16, DType::bf16}) {
    for (const DType out : {DType::f32, DType::f16, DType::bf16}) {
      for (const int64_t width : {8, 576, 1536, 24584}) {
        run(OpKind::rmsnorm, "02_rows",
            make_case(OpKind::rmsnorm, RmsNormAttrs{1e-5}, {{in, {3, width}}, {DType::f32, {width}, Fill::positive}},
                      {{out, {3, width}, Fill::poison}}));
        run(OpKind::swiglu, "02_vectors",
            make_case(OpKind::swiglu, NoAttrs{}, {{in, {3, 2 * width}}}, {{out, {3, width}, Fill::poison}}));
        run(OpKind::embed, "02_vectors",
            make_case(OpKind::embed, NoAttrs{}, {{DType::i32, {5}, Fill::given, {4, -1, 0, 5, 2}}, {in, {5, width}}},
                      {{out, {5, width}, Fill::poison}}));
      }
    }
  }
}

TEST_F(PrefillCuda, RandomFillingIsTheSameAsOnTheCpu) {
  const auto stream = device(kGpu).make_stream(), host = device(DeviceId{}).make_stream();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Shape shape = {37, 131};
    const int64_t bytes = shape.rows() * row_bytes(dtype, shape.last());
    Buffer on_device(device(kGpu), bytes), on_host(device(DeviceId{}), bytes);
    std::vector<std::byte> copied(static_cast<size_t>(bytes));
    fill_uniform(on_device.tensor(dtype, shape), 77, -0.02f, 0.02f, *stream);
    stream->copy_out(copied.data(), on_device.data(), bytes);
    stream->synchronize();
    fill_uniform(on_host.tensor(dtype, shape), 77, -0.02f, 0.02f, *host);
    EXPECT_TRUE(std::equal(copied.begin(), copied.end(), static_cast<const std::byte*>(on_host.data()))) << name(dtype);
  }
}

}  // namespace
}  // namespace rafter::testing
