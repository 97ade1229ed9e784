// What the CPU matmul promises beyond agreement with the reference: the same bits for any number of tokens and threads,
// weights at any address, and integers that are exact.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "rafter/base/half.h"
#include "rafter/base/random.h"
#include "rafter/base/threads.h"
#include "rafter/device/device.h"
#include "rafter/kernels/all.h"
#include "rafter/kernels/matmul/cpu_parts.h"
#include "rafter/kernels/quant/groups.h"
#include "rafter/ops/matmul.h"
#include "tests/kernels/cpu_targets.h"

namespace rafter::testing {
namespace {

constexpr DType kBlocks[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                             DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k};
constexpr DType kAll[] = {DType::f32,  DType::f16,  DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0,
                          DType::q5_1, DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k};

// Random weights with sane scales. Bytes before the first are there to misalign it.
std::vector<std::byte> random_weights(DType dtype, int64_t n, int64_t k, uint64_t seed, size_t before = 0) {
  Random random(seed);
  std::vector<std::byte> bytes(before + static_cast<size_t>(n * row_bytes(dtype, k)));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
  const auto put = [&](size_t offset, float value) {
    const uint16_t bits = dtype == DType::bf16 ? float_to_bf16(value) : float_to_f16(value);
    std::memcpy(bytes.data() + before + offset, &bits, 2);
  };
  const DTypeInfo& type = info(dtype);
  for (int64_t i = 0; i < n * k / type.block_elements; ++i) {
    const auto at = static_cast<size_t>(i * type.block_bytes);
    const float value = random.uniform(-0.1f, 0.1f);
    switch (dtype) {
      case DType::f32:
        std::memcpy(bytes.data() + before + at, &value, 4);
        break;
      case DType::q4_1:
      case DType::q5_1:
      case DType::q4_k:
      case DType::q5_k:
        put(at, value);
        put(at + 2, random.uniform(-0.1f, 0.1f));
        break;
      case DType::q6_k:
        put(at + offsetof(BlockQ6_K, d), value);
        break;
      default:
        put(at, value);
        break;
    }
  }
  return bytes;
}

struct Problem {
  int64_t tokens, k;
  std::vector<float> x, y, norm, bias;
  std::vector<std::vector<std::byte>> weights;
  std::vector<Tensor> weight_tensors;
  Op op;

  Problem(DType dtype, int64_t tokens_, int64_t k_, const std::vector<int64_t>& n, bool swiglu, size_t before = 0)
      : tokens(tokens_), k(k_) {
    Random random(11);
    int64_t rows = 0;
    for (const int64_t part : n) {
      weights.push_back(random_weights(dtype, part, k, 5 + static_cast<uint64_t>(rows), before));
      rows += part;
    }
    for (size_t i = 0; i < n.size(); ++i) {
      weight_tensors.push_back(Tensor::contiguous(dtype, {n[i], k}, weights[i].data() + before));
    }
    for (int64_t i = 0; i < tokens * k; ++i) x.push_back(random.normal());
    for (int64_t i = 0; i < k; ++i) norm.push_back(random.uniform(0.5f, 1.5f));
    for (int64_t i = 0; i < rows; ++i) bias.push_back(random.normal());
    y.resize(static_cast<size_t>(tokens * (swiglu ? rows / 2 : rows)));
    op.kind = OpKind::matmul;
    op.attrs = MatmulAttrs{swiglu, 1e-5};
  }

  int64_t width() const { return static_cast<int64_t>(y.size()) / tokens; }

  // y of tokens begin .. begin + count, by the kernel that dispatch picks.
  void run(int64_t begin, int64_t count) {
    std::vector<Tensor> inputs = {Tensor::contiguous(DType::f32, {count, k}, x.data() + begin * k),
                                  Tensor::contiguous(DType::f32, {static_cast<int64_t>(bias.size())}, bias.data()), Tensor{},
                                  norm.empty() ? Tensor{} : Tensor::contiguous(DType::f32, {k}, norm.data())};
    inputs.insert(inputs.end(), weight_tensors.begin(), weight_tensors.end());
    const std::vector<Tensor> outputs = {Tensor::contiguous(DType::f32, {count, width()}, y.data() + begin * width())};
    OpView view{&op, inputs, outputs, nullptr};
    const Kernel& kernel = registry().pick(view, DeviceKind::cpu);
    std::vector<std::byte> workspace(static_cast<size_t>(kernel.workspace(view)));
    view.workspace = workspace.data();
    kernel.launch(view, *device(DeviceId{}).make_stream());
  }

  // All tokens, `chunk` at a time.
  std::vector<float> result(int64_t chunk) {
    std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());
    for (int64_t t = 0; t < tokens; t += chunk) run(t, std::min(chunk, tokens - t));
    return y;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(CpuMatmul, GivesTheSameBitsForAnyChunksAndThreads) {
  for (const int64_t target : cpu_targets()) {
    const OnTarget on(target);
    for (const DType dtype : kAll) {
      for (const bool swiglu : {false, true}) {
        Problem problem(dtype, 67, 256, swiglu ? std::vector<int64_t>{53, 53} : std::vector<int64_t>{53, 16, 21}, swiglu);
        set_cpu_threads(2);
        const std::vector<float> whole = problem.result(67);
        for (const int threads : {1, 2, 3, 5}) {
          set_cpu_threads(threads);
          for (const int64_t chunk : {1, 7, 67}) {
            EXPECT_TRUE(same_bits(problem.result(chunk), whole))
                << name(dtype) << " on " << target_name(target) << ", " << threads << " threads, chunks of " << chunk
                << (swiglu ? ", gated" : "");
          }
        }
      }
    }
  }
  set_cpu_threads(0);
}

TEST(CpuMatmul, TakesWeightsAtAnyAddress) {
  for (const DType dtype : kAll) {
    const std::vector<float> aligned = Problem(dtype, 3, 256, {40}, false, 0).result(3);
    for (size_t before = 1; before < 16; ++before) {
      Problem moved(dtype, 3, 256, {40}, false, before);
      Problem original(dtype, 3, 256, {40}, false, 0);
      std::memcpy(moved.weights[0].data() + before, original.weights[0].data(), original.weights[0].size());
      EXPECT_TRUE(same_bits(moved.result(3), aligned)) << name(dtype) << " at " << before;
      EXPECT_TRUE(same_bits(moved.result(1), aligned)) << name(dtype) << " at " << before << ", token by token";
    }
  }
}

TEST(CpuMatmul, EveryNumberOfRowsFromOneOn) {
  for (const DType dtype : {DType::f32, DType::q4_1, DType::q8_0}) {
    const Problem most(dtype, 2, 64, {50}, false);
    for (int64_t n = 1; n < 50; ++n) {
      Problem some(dtype, 2, 64, {n}, false), all(dtype, 2, 64, {50}, false);
      some.weights[0] = std::vector<std::byte>(most.weights[0].begin(), most.weights[0].begin() + n * row_bytes(dtype, 64));
      some.weight_tensors[0].data = some.weights[0].data();
      some.bias = std::vector<float>(all.bias.begin(), all.bias.begin() + n);
      some.x = all.x;
      some.norm = all.norm;
      const std::vector<float> part = some.result(2), full = all.result(2);
      for (int64_t t = 0; t < 2; ++t) {
        for (int64_t i = 0; i < n; ++i) {
          const float expected = full[static_cast<size_t>(t * 50 + i)];
          EXPECT_NEAR(part[static_cast<size_t>(t * n + i)], expected, 1e-5f * (1 + std::fabs(expected)))
              << name(dtype) << " N=" << n;
        }
      }
    }
  }
}

// Random codes with scales and minimums of 1.
std::vector<std::byte> integer_weights(DType dtype, int64_t n, int64_t k) {
  std::vector<std::byte> weights = random_weights(dtype, n, k, 3);
  const uint16_t one = float_to_f16(1);
  for (size_t at = 0; at < weights.size(); at += static_cast<size_t>(info(dtype).block_bytes)) {
    std::byte* block = weights.data() + at;
    std::memcpy(block + (dtype == DType::q6_k ? offsetof(BlockQ6_K, d) : 0), &one, 2);
    if (dtype == DType::q6_k) std::memset(block + offsetof(BlockQ6_K, scales), 1, 16);
    if (dtype == DType::q4_1 || dtype == DType::q5_1) std::memcpy(block + 2, &one, 2);
    if (dtype == DType::q4_k || dtype == DType::q5_k) {
      std::memcpy(block + 2, &one, 2);
      std::memset(block + 4, 1, 12);
    }
  }
  return weights;
}

int64_t integer_product(DType dtype, const std::byte* row, const float* x, int64_t k) {
  int64_t sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    const quant::WeightGroup w = quant::read_group(dtype, row, i / 32);
    const int code = static_cast<int>(w.scale) * w.multiplier[i % 32 / 16] * w.q[i % 32] + static_cast<int>(w.minimum);
    sum += code * static_cast<int64_t>(x[i]);
  }
  return sum;
}

// With scales of 1 a product is a sum of integers, which f32 holds: every target must give exactly that.
TEST(CpuMatmul, IntegersAreExactOnEveryTarget) {
  constexpr int64_t kTokens = 9, kWidth = 32;
  for (const DType dtype : kBlocks) {
    const int64_t depth = std::max(64, info(dtype).block_elements);
    const std::vector<std::byte> weights = integer_weights(dtype, kWidth, depth);
    Random random(1);
    std::vector<float> x;
    for (int64_t i = 0; i < kTokens * depth; ++i) {
      // One value in each group is as large as codes get, so that the activations' scale is 1 too.
      x.push_back(i % 32 == 3 ? static_cast<float>(i % 64 < 32 ? quant::kTop : -quant::kTop)
                              : static_cast<float>(random.below(6001)) - 3000.0f);
    }
    for (const int64_t target : cpu_targets()) {
      const OnTarget on(target);
      Problem problem(dtype, kTokens, depth, {kWidth}, false);
      std::memcpy(problem.weights[0].data(), weights.data(), weights.size());
      problem.x = x;
      problem.norm.clear();
      std::fill(problem.bias.begin(), problem.bias.end(), 0.0f);
      for (const int64_t chunk : {int64_t{1}, kTokens}) {
        const std::vector<float> y = problem.result(chunk);
        for (int64_t i = 0; i < kTokens * kWidth; ++i) {
          const std::byte* row = weights.data() + i % kWidth * row_bytes(dtype, depth);
          const int64_t expected = integer_product(dtype, row, x.data() + i / kWidth * depth, depth);
          ASSERT_LT(std::abs(expected), 1 << 24);
          EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<float>(expected)) << name(dtype) << " on " << target_name(target);
        }
      }
    }
  }
}

TEST(CpuMatmul, VectorsQuantiseAsTheScalarRuleSays) {
  Random random(2);
  std::vector<float> x(32 * 64), row(32 * 64);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto group = i / 32;
    const float size = group == 0   ? 0
                       : group == 1 ? 1e-39f
                       : group == 2 ? 3e-37f
                       : group == 3 ? 1e37f
                                    : std::exp2(random.uniform(-20, 20));
    x[i] = size * random.normal();
  }
  x[4 * 32 + 7] = std::numeric_limits<float>::quiet_NaN();
  x[5 * 32 + 9] = std::numeric_limits<float>::infinity();
  for (const int64_t target : cpu_targets()) {
    const OnTarget on(target);
    const matmul_cpu::PrepareKernels kernels = matmul_cpu::prepare_kernels();
    if (kernels.prepare == nullptr) continue;
    std::vector<int8_t> q(2 * x.size());
    std::vector<matmul_cpu::GroupStats> stats(64);
    matmul_cpu::Prepared out{.k = 32 * 64, .k_padded = 32 * 64, .q = q.data(), .stats = stats.data()};
    kernels.prepare(DType::f32, x.data(), nullptr, 0, row.data(), out);
    for (size_t g = 0; g < 64; ++g) {
      int16_t expected[32];
      const quant::GroupScale scale = quant::quantise_group(x.data() + g * 32, expected);
      if (g == 4 || g == 5) {
        EXPECT_FALSE(std::isfinite(stats[g].scale)) << "a NaN or an infinity must not vanish";
        EXPECT_FALSE(std::isfinite(scale.scale));
        continue;
      }
      EXPECT_EQ(stats[g].scale, scale.scale) << g;
      EXPECT_EQ(stats[g].half[0], std::accumulate(expected, expected + 16, 0)) << g;
      EXPECT_EQ(stats[g].half[1], std::accumulate(expected + 16, expected + 32, 0)) << g;
      EXPECT_EQ(stats[g].sum, static_cast<float>(scale.sum)) << g;
    }
  }
}

TEST(CpuMatmul, NaNInARowShowsInAllOfItsResultsAndNowhereElse) {
  for (const DType dtype : kAll) {
    Problem problem(dtype, 3, 256, {40}, false);
    problem.x[256 + 100] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y = problem.result(3);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 40 == 1) << name(dtype) << ' ' << i;
  }
}

}  // namespace
}  // namespace rafter::testing
