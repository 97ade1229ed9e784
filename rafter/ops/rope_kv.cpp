#include "rafter/ops/rope_kv.h"

#include <cmath>
#include <span>

#include "rafter/ops/checks.h"
#include "rafter/ops/paged_cache.h"

namespace rafter::rope_kv {

void check(const OpView& op) {
  const auto& a = op.attrs<RopeKvAttrs>();
  const Tensor &in = op.inputs[qkv], &table = op.inputs[block_table], &k = op.outputs[k_cache], &v = op.outputs[v_cache];
  const int64_t t = in.shape[0];
  require(a.head_dim > 0 && a.head_dim % 2 == 0 && a.kv_heads > 0 && a.q_heads % a.kv_heads == 0, op,
          "an even head_dim and q_heads a multiple of kv_heads");
  require(is_activation(in) && is_matrix(in, t, (a.q_heads + 2 * a.kv_heads) * a.head_dim), op, "qkv [T, (q + 2 kv) D]");
  require(is_vector(op.inputs[positions], DType::i32, t), op, "positions i32 [T]");
  require(table.dtype == DType::i32 && table.shape.rank() == 2 && (table.shape[0] == 1 || table.shape[0] == t), op,
          "block_table i32 [1 or T, pages]");
  require(is_vector(op.inputs[frequencies], DType::f32, a.head_dim / 2), op, "frequencies f32 [D / 2]");
  for (const Input norm : {q_norm, k_norm}) {
    require(!op.inputs[norm].present() || is_vector(op.inputs[norm], DType::f32, a.head_dim), op, "head norms f32 [D]");
  }
  require(is_matrix(op.outputs[q], t, a.q_heads * a.head_dim) && op.outputs[q].dtype == in.dtype, op, "q as qkv [T, q D]");
  require(is_activation(k) && k.shape == Shape{k.shape[0], a.kv_heads, kPageTokens, a.head_dim} && v.shape == k.shape &&
              v.dtype == k.dtype,
          op, "caches [pages, kv, 16, D]");
}

Cost cost(const OpView& op, const CostContext&) {
  const Tensor &in = op.inputs[qkv], &k = op.outputs[k_cache];
  const double tokens = static_cast<double>(in.shape[0]);
  const auto& a = op.attrs<RopeKvAttrs>();
  return {.bytes_read = static_cast<double>(in.bytes()) + 4 * tokens,
          .bytes_written = static_cast<double>(op.outputs[q].bytes()) +
                           2 * tokens * static_cast<double>(a.kv_heads * row_bytes(k.dtype, a.head_dim)),
          .work = work_on(MathUnit::fp32, 3.0 * tokens * static_cast<double>((a.q_heads + a.kv_heads) * a.head_dim))};
}

namespace {

void normalise(std::span<double> head, const Tensor& weight, double epsilon) {
  if (!weight.present()) return;
  double squares = 0;
  for (const double value : head) squares += value * value;
  const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(head.size()) + epsilon);
  for (size_t i = 0; i < head.size(); ++i) head[i] *= inverse * static_cast<double>(weight.as<float>()[i]);
}

void rotate(std::span<double> head, const Tensor& frequency, double position, bool interleaved) {
  const size_t half = head.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    double& a = head[interleaved ? 2 * i : i];
    double& b = head[interleaved ? 2 * i + 1 : i + half];
    const double angle = position * static_cast<double>(frequency.as<float>()[i]);
    const double rotated = a * std::cos(angle) - b * std::sin(angle);
    b = a * std::sin(angle) + b * std::cos(angle);
    a = rotated;
  }
}

}  // namespace

std::vector<Doubles> reference(const OpView& op) {
  const auto& a = op.attrs<RopeKvAttrs>();
  Doubles in = to_doubles(op.inputs[qkv]);
  Doubles out(static_cast<size_t>(op.outputs[q].shape.elements()), 0.0);
  Doubles keys = to_doubles(op.outputs[k_cache]), values = to_doubles(op.outputs[v_cache]);
  const auto dim = static_cast<size_t>(a.head_dim), width = static_cast<size_t>(a.q_heads + 2 * a.kv_heads) * dim;
  for (int64_t t = 0; t < op.inputs[qkv].shape[0]; ++t) {
    const int32_t position = op.inputs[positions].as<int32_t>()[t];
    if (position < 0) continue;
    const auto head = [&](int64_t h) {
      return std::span(in).subspan(static_cast<size_t>(t) * width + static_cast<size_t>(h) * dim, dim);
    };
    for (int64_t h = 0; h < a.q_heads; ++h) {
      normalise(head(h), op.inputs[q_norm], a.norm_epsilon);
      rotate(head(h), op.inputs[frequencies], position, a.interleaved);
      std::copy(head(h).begin(), head(h).end(), out.begin() + (t * a.q_heads + h) * a.head_dim);
    }
    for (int64_t h = 0; h < a.kv_heads; ++h) {
      const auto k = head(a.q_heads + h), v = head(a.q_heads + a.kv_heads + h);
      normalise(k, op.inputs[k_norm], a.norm_epsilon);
      rotate(k, op.inputs[frequencies], position, a.interleaved);
      const Tensor& table = op.inputs[block_table];
      const int64_t at = cache_index(op.outputs[k_cache], table, sequence_of(table, t), position, h);
      std::copy(k.begin(), k.end(), keys.begin() + at);
      std::copy(v.begin(), v.end(), values.begin() + at);
    }
  }
  return {out, keys, values};
}

}  // namespace rafter::rope_kv
