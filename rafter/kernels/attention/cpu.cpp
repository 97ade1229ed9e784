// attention on the CPU: the naive step, one number at a time, and the list of all steps.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "rafter/base/threads.h"
#include "rafter/kernels/attention/cpu_pages.h"
#include "rafter/kernels/attention/register.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/paged_rows.h"
#include "rafter/ops/attention.h"

namespace rafter {

namespace {

struct Row {
  const OpView& op;
  const AttentionAttrs& a;
  int64_t t, head, sequence;

  const std::byte* key(int64_t p) const { return at(op.inputs[attention::k_cache], p); }
  const std::byte* value(int64_t p) const { return at(op.inputs[attention::v_cache], p); }
  double score(int64_t p) const {
    const Tensor& q = op.inputs[attention::q];
    double dot = 0;
    for (int64_t i = 0; i < a.head_dim; ++i) {
      dot += static_cast<double>(read_value(q.dtype, q.row(t), head * a.head_dim + i)) *
             static_cast<double>(read_value(op.inputs[attention::k_cache].dtype, key(p), i));
    }
    return dot * a.scale;
  }

 private:
  const std::byte* at(const Tensor& cache, int64_t p) const {
    return cache_row(cache, op.inputs[attention::block_table], sequence, p, head / (a.q_heads / a.kv_heads));
  }
};

// Two walks over the keys, one for the largest score and one for the sum of weights, then one more for each element of
// the result: nothing is kept, so no scratch is needed.
void attend(const Row& row, int64_t last, const Tensor& out) {
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t p = 0; p <= last; ++p) top = std::max(top, row.score(p));
  for (int64_t p = 0; p <= last; ++p) total += std::exp(row.score(p) - top);
  const DType dtype = row.op.inputs[attention::v_cache].dtype;
  constexpr int64_t kPiece = 256;  // elements of the result made in one walk
  for (int64_t begin = 0; begin < row.a.head_dim; begin += kPiece) {
    const int64_t count = std::min(kPiece, row.a.head_dim - begin);
    double sum[kPiece] = {};
    for (int64_t p = 0; p <= last; ++p) {
      const double weight = std::exp(row.score(p) - top) / total;
      for (int64_t i = 0; i < count; ++i) sum[i] += weight * static_cast<double>(read_value(dtype, row.value(p), begin + i));
    }
    for (int64_t i = 0; i < count; ++i) {
      write_value(out.dtype, out.row(row.t), row.head * row.a.head_dim + begin + i, static_cast<float>(sum[i]));
    }
  }
}

void launch_naive(const OpView& op, Stream&) {
  const auto& a = op.attrs<AttentionAttrs>();
  const Tensor& out = op.outputs[attention::out];
  cpu_threads().for_range(out.shape[0] * a.q_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t t = item / a.q_heads, head = item % a.q_heads;
      const int64_t last = op.inputs[attention::positions].as<int32_t>()[t];
      if (last < 0) {
        std::memset(out.row(t) + row_bytes(out.dtype, head * a.head_dim), 0,
                    static_cast<size_t>(row_bytes(out.dtype, a.head_dim)));
      } else {
        attend({op, a, t, head, sequence_of(op.inputs[attention::block_table], t)}, last, out);
      }
    }
  });
}

}  // namespace

void register_attention_cpu(Registry& registry) {
  for (const OpKind kind : {OpKind::attention_prefill, OpKind::attention_decode}) {
    registry.add({.op = kind,
                  .device = DeviceKind::cpu,
                  .name = "01_naive",
                  .step = 1,
                  .supports = [](const OpView&) { return true; },
                  .launch = launch_naive});
    registry.add(attention_cpu_pages(kind));
  }
}

}  // namespace rafter
