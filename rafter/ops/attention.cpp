#include "rafter/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "rafter/ops/block_formats.h"
#include "rafter/ops/checks.h"
#include "rafter/ops/paged_cache.h"

namespace rafter::attention {

void check(const OpView& op) {
  const auto& a = op.attrs<AttentionAttrs>();
  const Tensor &in = op.inputs[q], &k = op.inputs[k_cache], &v = op.inputs[v_cache], &table = op.inputs[block_table];
  const int64_t t = in.shape[0];
  require(a.head_dim > 0 && a.kv_heads > 0 && a.q_heads % a.kv_heads == 0, op, "q_heads a multiple of kv_heads");
  require(is_activation(in) && is_matrix(in, t, a.q_heads * a.head_dim), op, "q [T, q_heads D]");
  require(is_activation(k) && k.shape == Shape{k.shape[0], a.kv_heads, kPageTokens, a.head_dim} && v.shape == k.shape &&
              v.dtype == k.dtype,
          op, "caches [pages, kv_heads, 16, D]");
  const int64_t sequences = op.op->kind == OpKind::attention_prefill ? 1 : t;
  require(table.dtype == DType::i32 && table.shape.rank() == 2 && table.shape[0] == sequences, op,
          "block_table i32 [1, pages] for prefill, [T, pages] for decode");
  require(is_vector(op.inputs[positions], DType::i32, t), op, "positions i32 [T]");
  require(op.outputs[out].shape == in.shape && op.outputs[out].dtype == in.dtype, op, "out as q");
}

Cost cost(const OpView& op, const CostContext& context) {
  const auto& a = op.attrs<AttentionAttrs>();
  const double tokens = static_cast<double>(op.inputs[q].shape[0]), before = static_cast<double>(context.context);
  const bool prefill = op.op->kind == OpKind::attention_prefill;
  // Keys that must be read, and (query, key) pairs: the new tokens see each other causally, half of the square.
  const double keys = prefill ? before + tokens : tokens * (before + 1);
  const double pairs = prefill ? tokens * before + tokens * (tokens + 1) / 2 : tokens * (before + 1);
  const double key_bytes = static_cast<double>(a.kv_heads * row_bytes(op.inputs[k_cache].dtype, a.head_dim));
  return {.bytes_read = static_cast<double>(op.inputs[q].bytes()) + 2 * keys * key_bytes,
          .bytes_written = static_cast<double>(op.outputs[out].bytes()),
          .work = work_on(multiplies(op.inputs[k_cache].dtype), 4.0 * pairs * static_cast<double>(a.q_heads * a.head_dim))};
}

std::vector<Doubles> reference(const OpView& op) {
  const auto& a = op.attrs<AttentionAttrs>();
  const Doubles in = to_doubles(op.inputs[q]);
  const Tensor &keys = op.inputs[k_cache], &table = op.inputs[block_table];
  const Doubles k = to_doubles(keys), v = to_doubles(op.inputs[v_cache]);
  Doubles result(in.size(), 0.0);
  for (int64_t t = 0; t < op.inputs[q].shape[0]; ++t) {
    const int32_t last = op.inputs[positions].as<int32_t>()[t];
    for (int64_t h = 0; h < a.q_heads && last >= 0; ++h) {
      const double* query = in.data() + (t * a.q_heads + h) * a.head_dim;
      double* sum = result.data() + (t * a.q_heads + h) * a.head_dim;
      Doubles weight(static_cast<size_t>(last) + 1);
      const auto at = [&](int64_t p) {
        return cache_index(keys, table, sequence_of(table, t), p, h / (a.q_heads / a.kv_heads));
      };
      for (int64_t p = 0; p <= last; ++p) {
        double dot = 0;
        for (int64_t i = 0; i < a.head_dim; ++i) dot += query[i] * k[static_cast<size_t>(at(p) + i)];
        weight[static_cast<size_t>(p)] = dot * a.scale;
      }
      const double top = *std::max_element(weight.begin(), weight.end());
      double total = 0;
      for (double& w : weight) total += w = std::exp(w - top);
      for (int64_t p = 0; p <= last; ++p) {
        for (int64_t i = 0; i < a.head_dim; ++i)
          sum[i] += weight[static_cast<size_t>(p)] / total * v[static_cast<size_t>(at(p) + i)];
      }
    }
  }
  return {result};
}

}  // namespace rafter::attention
