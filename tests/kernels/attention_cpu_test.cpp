// What the CPU attention promises beyond agreement with the reference: prefill and decode, whole or in chunks, on any
// number of threads, give the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "rafter/base/half.h"
#include "rafter/base/random.h"
#include "rafter/base/threads.h"
#include "rafter/device/device.h"
#include "rafter/kernels/all.h"
#include "rafter/ops/attention.h"
#include "rafter/ops/rope_kv.h"
#include "tests/kernels/cpu_targets.h"

namespace rafter::testing {
namespace {

struct Sequence {
  static constexpr int64_t kQueryHeads = 6, kHeads = 2, kDim = 32;
  int64_t tokens, pages;
  std::vector<float> q, out;
  std::vector<uint16_t> k, v;
  std::vector<int32_t> table, positions;
  Op op;

  explicit Sequence(int64_t tokens_) : tokens(tokens_), pages((tokens_ + kPageTokens - 1) / kPageTokens) {
    Random random(4);
    for (int64_t i = 0; i < tokens * kQueryHeads * kDim; ++i) q.push_back(2 * random.normal());
    for (int64_t i = 0; i < pages * kHeads * kPageTokens * kDim; ++i) {
      k.push_back(float_to_f16(random.normal()));
      v.push_back(float_to_f16(random.normal()));
    }
    for (int64_t i = 0; i < pages; ++i) table.push_back(static_cast<int32_t>(pages - 1 - i));
    for (int64_t i = 0; i < tokens; ++i) positions.push_back(static_cast<int32_t>(i));
    out.resize(q.size());
    op.attrs = AttentionAttrs{kQueryHeads, kHeads, kDim, 1 / std::sqrt(static_cast<double>(kDim))};
  }

  void run(OpKind kind, int64_t begin, int64_t count) {
    op.kind = kind;
    const int64_t width = kQueryHeads * kDim;
    const Shape cache = {pages, kHeads, kPageTokens, kDim};
    const std::vector<Tensor> inputs = {Tensor::contiguous(DType::f32, {count, width}, q.data() + begin * width),
                                        Tensor::contiguous(DType::f16, cache, k.data()),
                                        Tensor::contiguous(DType::f16, cache, v.data()),
                                        Tensor::contiguous(DType::i32, {1, pages}, table.data()),
                                        Tensor::contiguous(DType::i32, {count}, positions.data() + begin)};
    const std::vector<Tensor> outputs = {Tensor::contiguous(DType::f32, {count, width}, out.data() + begin * width)};
    OpView view{&op, inputs, outputs, nullptr};
    const Kernel& kernel = registry().pick(view, DeviceKind::cpu);
    std::vector<std::byte> workspace(kernel.workspace != nullptr ? static_cast<size_t>(kernel.workspace(view)) : 0);
    view.workspace = workspace.data();
    kernel.launch(view, *device(DeviceId{}).make_stream());
  }

  std::vector<float> prefill(int64_t chunk) {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    for (int64_t t = 0; t < tokens; t += chunk) run(OpKind::attention_prefill, t, std::min(chunk, tokens - t));
    return out;
  }
  std::vector<float> decode() {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    for (int64_t t = 0; t < tokens; ++t) run(OpKind::attention_decode, t, 1);
    return out;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(CpuAttention, PrefillAndDecodeGiveTheSameBits) {
  for (const int64_t target : cpu_targets()) {
    const OnTarget on(target);
    Sequence sequence(300);
    set_cpu_threads(2);
    const std::vector<float> whole = sequence.prefill(300);
    for (const int threads : {1, 2, 5}) {
      set_cpu_threads(threads);
      for (const int64_t chunk : {1, 7, 64, 300}) {
        EXPECT_TRUE(same_bits(sequence.prefill(chunk), whole))
            << target_name(target) << ", " << threads << " threads, chunks of " << chunk;
      }
      EXPECT_TRUE(same_bits(sequence.decode(), whole)) << target_name(target) << ", decode on " << threads << " threads";
    }
  }
  set_cpu_threads(0);
}

// A key of a later token may be anything, infinities too, and must not reach the result of an earlier one.
TEST(CpuAttention, LaterKeysDoNotReachEarlierTokens) {
  Sequence sequence(40);
  const std::vector<float> before = sequence.prefill(40);
  const size_t page = static_cast<size_t>(sequence.table[2]);
  const size_t slot = (page * Sequence::kHeads * kPageTokens + 7) * Sequence::kDim;  // position 39, KV head 0
  for (size_t i = 0; i < Sequence::kDim; ++i) sequence.k[slot + i] = sequence.v[slot + i] = float_to_f16(INFINITY);
  const std::vector<float> after = sequence.prefill(40);
  const size_t last = 39 * Sequence::kQueryHeads * Sequence::kDim;
  EXPECT_EQ(std::memcmp(before.data(), after.data(), last * sizeof(float)), 0);
  EXPECT_TRUE(std::isnan(after[last])) << "the token that does attend to it";
}

}  // namespace
}  // namespace rafter::testing
