// rope_kv on the CPU: the naive step, one number at a time, and the list of all steps.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "rafter/base/threads.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/paged_rows.h"
#include "rafter/kernels/rope/cpu_table.h"
#include "rafter/kernels/rope/register.h"

namespace rafter {

namespace {

// One head on its way: read, normalised, rotated and written value by value, so that no scratch is needed.
struct Head {
  const Tensor& qkv;
  int64_t t, first;  // the head's first column in qkv
  int64_t dim;
  float inverse_rms = 1;
  const float* norm = nullptr;

  float at(int64_t i) const {
    const float value = read_value(qkv.dtype, qkv.row(t), first + i);
    return norm ? value * inverse_rms * norm[i] : value;
  }
};

Head read_head(const OpView& op, int64_t t, int64_t h, const Tensor& norm) {
  const auto& a = op.attrs<RopeKvAttrs>();
  Head head{op.inputs[rope_kv::qkv], t, h * a.head_dim, a.head_dim};
  if (!norm.present()) return head;
  double squares = 0;
  for (int64_t i = 0; i < head.dim; ++i) squares += static_cast<double>(head.at(i)) * static_cast<double>(head.at(i));
  head.inverse_rms = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(head.dim) + a.norm_epsilon));
  head.norm = norm.as<float>();
  return head;
}

// The angle in double: at position 100000 a float would have lost the second decimal of it.
void rotate(const OpView& op, const Head& head, int64_t position, DType dtype, std::byte* out) {
  const bool interleaved = op.attrs<RopeKvAttrs>().interleaved;
  const int64_t half = head.dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    const int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + half;
    const double angle = static_cast<double>(position) * static_cast<double>(op.inputs[rope_kv::frequencies].as<float>()[i]);
    const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
    const float a = head.at(first), b = head.at(second);
    write_value(dtype, out, first, a * cosine - b * sine);
    write_value(dtype, out, second, a * sine + b * cosine);
  }
}

void rope_token(const OpView& op, int64_t t) {
  const auto& a = op.attrs<RopeKvAttrs>();
  const Tensor &q = op.outputs[rope_kv::q], &k = op.outputs[rope_kv::k_cache], &v = op.outputs[rope_kv::v_cache];
  const int64_t position = op.inputs[rope_kv::positions].as<int32_t>()[t];
  if (position < 0) {
    std::memset(q.row(t), 0, static_cast<size_t>(row_bytes(q.dtype, q.shape.last())));
    return;
  }
  for (int64_t h = 0; h < a.q_heads; ++h) {
    rotate(op, read_head(op, t, h, op.inputs[rope_kv::q_norm]), position, q.dtype,
           q.row(t) + row_bytes(q.dtype, h * a.head_dim));
  }
  const Tensor& table = op.inputs[rope_kv::block_table];
  const int64_t sequence = sequence_of(table, t);
  for (int64_t h = 0; h < a.kv_heads; ++h) {
    rotate(op, read_head(op, t, a.q_heads + h, op.inputs[rope_kv::k_norm]), position, k.dtype,
           cache_row(k, table, sequence, position, h));
    const Head value = read_head(op, t, a.q_heads + a.kv_heads + h, Tensor{});
    std::byte* row = cache_row(v, table, sequence, position, h);
    for (int64_t i = 0; i < a.head_dim; ++i) write_value(v.dtype, row, i, value.at(i));
  }
}

void launch_naive(const OpView& op, Stream&) {
  cpu_threads().for_range(op.inputs[rope_kv::qkv].shape[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) rope_token(op, t);
  });
}

}  // namespace

void register_rope_cpu(Registry& registry) {
  registry.add({.op = OpKind::rope_kv,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch_naive});
  registry.add(rope_cpu_table());
}

}  // namespace rafter
