// The CUDA decode kernels beyond what every kernel is held to: each of their configurations over the ops' cases, the same
// bits whatever rows come along, and contexts of every length in one wide block table.
#include <fmt/format.h>

#include "tests/support/op_check.h"

#if RAFTER_WITH_CUDA
#include <cmath>

#include "rafter/base/random.h"
#include "rafter/device/device.h"
#include "rafter/kernels/attention/cuda/decode.h"
#include "rafter/kernels/attention/cuda/decode_config.h"
#include "rafter/kernels/matmul/cuda/decode.h"
#include "rafter/kernels/matmul/cuda/decode_config.h"
#include "rafter/ops/rope_kv.h"

namespace rafter::testing {
namespace {

constexpr DeviceId kGpu{DeviceKind::cuda, 0};

class DecodeCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    register_matmul_decode_cuda(registry_);
    register_attention_decode_cuda(registry_);
  }
  void TearDown() override {
    decode::overrides() = {};
    attention::decode_override().reset();
  }

  const Kernel& kernel(OpKind kind, std::string_view name) {
    for (const Kernel* kernel : registry_.kernels(kind, DeviceKind::cuda)) {
      if (kernel->name == name) return *kernel;
    }
    throw std::runtime_error(std::string(name));
  }

  // Every case that the kernel takes; at least one.
  void check_cases(const Kernel& kernel, const std::string& setting) {
    int ran = 0;
    for (const OpCase& test : cases(kernel.op)) {
      const Outcome outcome = run_case(kernel, test, kGpu, 23);
      if (!outcome.supported) continue;
      ++ran;
      EXPECT_EQ(outcome.fault, "") << kernel.name << ", " << setting << ", case " << test.name;
    }
    if (ran == 0) GTEST_SKIP() << kernel.name << " takes no case on this GPU";
  }

  Registry registry_;
};

TEST_F(DecodeCuda, RowsInEveryShape) {
  for (const decode::RowsShape& shape : decode::kRowsShapes) {
    for (const int group : {1, 2, 8}) {
      const decode::RowsConfig config{shape.rows, shape.unroll, 8, group, group == 2 ? 1 : 4};
      decode::overrides().rows = [config](const decode::Problem&) { return config; };
      check_cases(kernel(OpKind::matmul, "10_decode_rows"),
                  fmt::format("rows {} unroll {} group {}", shape.rows, shape.unroll, group));
    }
  }
}

TEST_F(DecodeCuda, RingsOfEverySize) {
  for (const int rows : decode::kRingRows) {
    for (const auto& [warps, kilobytes] : {std::pair{4, 110}, {6, 16}, {14, 72}}) {
      const decode::RingConfig config{rows, warps, 1, kilobytes * 1024};
      decode::overrides().ring = [config](const decode::Problem&) { return config; };
      check_cases(kernel(OpKind::matmul, "11_decode_ring"),
                  fmt::format("rows {} warps {} block {} KiB", rows, warps, kilobytes));
    }
  }
}

TEST_F(DecodeCuda, MmaInEveryShape) {
  for (const int unroll : decode::kMmaUnrolls) {
    for (const int group : {1, 8}) {
      const decode::MmaConfig config{unroll, 8, group, 1};
      decode::overrides().mma = [config](const decode::Problem&) { return config; };
      check_cases(kernel(OpKind::matmul, "12_decode_mma"), fmt::format("unroll {} group {}", unroll, group));
    }
  }
}

TEST_F(DecodeCuda, AttentionInEveryNumberOfSplits) {
  for (const char* name : {"10_decode_split", "11_decode_split_mma"}) {
    for (const attention::DecodeConfig& config :
         {attention::DecodeConfig{4, 1, 128, 4}, {8, 1, 5, 1}, {4, 8, 1, 1}, {8, 2, 64, 3}}) {
      attention::decode_override() = config;
      check_cases(kernel(OpKind::attention_decode, name),
                  fmt::format("warps {} pages {} splits {}", config.warps, config.min_pages, config.max_splits));
    }
  }
}

// The first `tokens` rows of one fixed x, with fixed weights.
OpCase matmul_rows(DType dtype, int64_t tokens, int64_t n, int64_t k) {
  Random random(5);
  OpCase test;
  test.name = fmt::format("T={}", tokens);
  test.op.kind = OpKind::matmul;
  test.op.attrs = MatmulAttrs{};
  test.op.inputs.assign(5, 0);
  test.op.outputs.assign(1, 0);
  std::vector<double> x, w, norm;
  for (int64_t i = 0; i < decode::kMaxTokens * k; ++i) x.push_back(random.normal());
  for (int64_t i = 0; i < n * k; ++i) w.push_back(random.normal());
  for (int64_t i = 0; i < k; ++i) norm.push_back(random.uniform(0.5f, 1.5f));
  x.resize(static_cast<size_t>(tokens * k));
  test.inputs = {
      {dtype, {tokens, k}, Fill::given, x}, {}, {}, {DType::f32, {k}, Fill::given, norm}, {dtype, {n, k}, Fill::given, w}};
  test.outputs = {{DType::f32, {tokens, n}, Fill::poison}};
  return test;
}

TEST_F(DecodeCuda, ARowsBitsDoNotDependOnItsNeighbours) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Kernel& rows = kernel(OpKind::matmul, "10_decode_rows");
    const auto alone = run_case(rows, matmul_rows(dtype, 1, 70, 1544), kGpu, 1).outputs.at(0);
    for (const int64_t tokens : {2, 3, 8}) {
      auto together = run_case(rows, matmul_rows(dtype, tokens, 70, 1544), kGpu, 1).outputs.at(0);
      together.resize(alone.size());
      EXPECT_EQ(together, alone) << name(dtype) << ", " << tokens << " tokens";
    }
  }
}

// One sequence of `keys` keys among others, in a table with room for many more.
OpCase wide_table(DType dtype, const std::vector<int64_t>& keys) {
  constexpr int64_t kHeads = 4, kKvHeads = 2, kDim = 64, kWidth = 512;
  OpCase test;
  test.name = fmt::format("keys {}", keys[0]);
  test.op.kind = OpKind::attention_decode;
  test.op.attrs = AttentionAttrs{kHeads, kKvHeads, kDim, 0.125};
  test.op.inputs.assign(5, 0);
  test.op.outputs.assign(1, 0);
  const auto rows = static_cast<int64_t>(keys.size());
  std::vector<double> table(static_cast<size_t>(rows * kWidth), -1), positions, k, v;
  int64_t pages = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = keys[static_cast<size_t>(row)];
    positions.push_back(static_cast<double>(length - 1));
    Random random(static_cast<uint64_t>(length));  // the same keys wherever a sequence of this length stands
    for (int64_t p = 0; p * kPageTokens < length; ++p) {
      table[static_cast<size_t>(row * kWidth + p)] = static_cast<double>(pages++);
      for (int64_t i = 0; i < kKvHeads * kPageTokens * kDim; ++i) {
        const bool live = p * kPageTokens + i / kDim % kPageTokens < length;
        k.push_back(live ? random.normal() : std::nan(""));
        v.push_back(live ? random.normal() : std::nan(""));
      }
    }
  }
  Random random(3);
  std::vector<double> q;
  for (int64_t i = 0; i < kHeads * kDim; ++i) q.push_back(random.normal());
  const std::vector<double> one = q;
  for (int64_t row = 1; row < rows; ++row) q.insert(q.end(), one.begin(), one.end());
  const Shape cache = {pages, kKvHeads, kPageTokens, kDim};
  test.inputs = {{dtype, {rows, kHeads * kDim}, Fill::given, q},
                 {dtype, cache, Fill::given, k},
                 {dtype, cache, Fill::given, v},
                 {DType::i32, {rows, kWidth}, Fill::given, table},
                 {DType::i32, {rows}, Fill::given, positions}};
  test.outputs = {{dtype, {rows, kHeads * kDim}, Fill::poison}};
  test.tolerance_factor = 4;
  return test;
}

TEST_F(DecodeCuda, EveryLengthInAWideTable) {
  for (const char* name : {"10_decode_split", "11_decode_split_mma"}) {
    for (const int64_t keys : {1, 16, 17, 63, 64, 65, 128, 129, 1000, 4096, 8192}) {
      const Outcome outcome = run_case(kernel(OpKind::attention_decode, name), wide_table(DType::bf16, {keys}), kGpu, 1);
      if (!outcome.supported) continue;
      EXPECT_EQ(outcome.fault, "") << name << ", keys " << keys;
    }
  }
}

TEST_F(DecodeCuda, ASequencesBitsDoNotDependOnItsNeighbours) {
  for (const char* name : {"10_decode_split", "11_decode_split_mma"}) {
    const Kernel& step = kernel(OpKind::attention_decode, name);
    const Outcome first = run_case(step, wide_table(DType::bf16, {777, 12}), kGpu, 1);
    const Outcome second = run_case(step, wide_table(DType::bf16, {777, 4000}), kGpu, 1);
    if (!first.supported) continue;
    const size_t row = first.outputs.at(0).size() / 2;
    EXPECT_TRUE(std::equal(first.outputs[0].begin(), first.outputs[0].begin() + static_cast<ptrdiff_t>(row),
                           second.outputs.at(0).begin()))
        << name;
  }
}

}  // namespace
}  // namespace rafter::testing
#endif
