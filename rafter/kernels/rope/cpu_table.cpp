// 02_table: the sines and cosines of a token's position once for all its heads, and rotations in vectors.
//
// An angle is taken modulo a turn in double precision, then its sine in single: exact enough at any position.
// Measured on one core of a Zen 4, a layer of SmolLM2-135M: a token 3.8 us by 01_naive, 0.5 us here.
#include "rafter/kernels/rope/cpu_table.h"

#include <cmath>
#include <cstring>

#include "rafter/base/simd_targets.h"
#include "rafter/base/threads.h"
#include "rafter/kernels/paged_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rafter/kernels/rope/cpu_table.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/contrib/math/math-inl.h"
#include "rafter/kernels/float_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

// One token's work; `room` is five rows of head_dim rounded up to 16.
using RopeToken = void (*)(const OpView& op, int64_t t, float* room);

#if HWY_TARGET == HWY_SCALAR
RopeToken make_rope_token() { return nullptr; }
#else

int64_t room_row(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }

// out[i] = values[i] * own[i] + partner of values[i] * other[i]: element i of a head with the one it is paired with.
struct Rotation {
  const float *own, *other;  // cosines; sines, negative for the first of a pair
  int64_t head_dim;
  bool interleaved;
};

void find_partners(const float* values, const Rotation& r, float* partners) {
  const int64_t half = r.head_dim / 2;
  if (r.interleaved) {
    for (int64_t i = 0; i < half; ++i) {
      partners[2 * i] = values[2 * i + 1];
      partners[2 * i + 1] = values[2 * i];
    }
  } else {
    std::memcpy(partners, values + half, static_cast<size_t>(half) * sizeof(float));
    std::memcpy(partners + half, values, static_cast<size_t>(half) * sizeof(float));
  }
}

// In place; what lies between head_dim and the end of its last vector is of no account.
void rotate(float* values, const Rotation& r, float* partners) {
  const TagF f;
  find_partners(values, r, partners);
  for (int64_t i = 0; i < r.head_dim; i += kLanes) {
    const VecF turned = hn::Mul(hn::LoadU(f, partners + i), hn::LoadU(f, r.other + i));
    hn::StoreU(hn::MulAdd(hn::LoadU(f, values + i), hn::LoadU(f, r.own + i), turned), f, values + i);
  }
}

// Angles in [-pi, pi]: position times frequency, less whole turns.
void angles(double position, const float* frequencies, int64_t half, float* out) {
  for (int64_t i = 0; i < half; ++i) {
    const double turns = position * static_cast<double>(frequencies[i]) * (0.5 / M_PI);
    out[i] = static_cast<float>((turns - std::rint(turns)) * (2 * M_PI));
  }
}

Rotation make_rotation(const OpView& op, double position, float* own, float* other, float* angle) {
  const TagF f;
  const auto& a = op.attrs<RopeKvAttrs>();
  const int64_t half = a.head_dim / 2;
  std::memset(angle, 0, static_cast<size_t>(room_row(a.head_dim)) * sizeof(float));
  angles(position, op.inputs[rope_kv::frequencies].as<float>(), half, angle);
  for (int64_t i = 0; i < half; i += kLanes) {
    const VecF v = hn::LoadU(f, angle + i);
    float cosine[kLanes], sine[kLanes];
    hn::StoreU(hn::Cos(f, v), f, cosine);
    hn::StoreU(hn::Sin(f, v), f, sine);
    for (int64_t lane = 0; lane < kLanes && i + lane < half; ++lane) {
      const int64_t first = a.interleaved ? 2 * (i + lane) : i + lane, second = a.interleaved ? first + 1 : first + half;
      own[first] = own[second] = cosine[lane];
      other[first] = -sine[lane];
      other[second] = sine[lane];
    }
  }
  return {own, other, a.head_dim, a.interleaved};
}

void normalise(float* values, const float* weight, int64_t head_dim, double epsilon) {
  double squares = 0;
  for (int64_t i = 0; i < head_dim; ++i) squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  const auto inverse = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(head_dim) + epsilon));
  for (int64_t i = 0; i < head_dim; ++i) values[i] = values[i] * inverse * weight[i];
}

void rope_token(const OpView& op, int64_t t, float* room) {
  const auto& a = op.attrs<RopeKvAttrs>();
  const Tensor &qkv = op.inputs[rope_kv::qkv], &table = op.inputs[rope_kv::block_table];
  const Tensor &q = op.outputs[rope_kv::q], &k = op.outputs[rope_kv::k_cache], &v = op.outputs[rope_kv::v_cache];
  const int64_t position = op.inputs[rope_kv::positions].as<int32_t>()[t];
  if (position < 0) {
    std::memset(q.row(t), 0, static_cast<size_t>(row_bytes(q.dtype, q.shape.last())));
    return;
  }
  const int64_t row = room_row(a.head_dim), sequence = sequence_of(table, t);
  float *values = room + 3 * row, *partners = room + 4 * row;
  std::memset(values, 0, static_cast<size_t>(2 * row) * sizeof(float));
  const Rotation rotation = make_rotation(op, static_cast<double>(position), room, room + row, room + 2 * row);
  const auto head = [&](int64_t h, const Tensor& norm, bool turn, DType dtype, std::byte* out) HWY_ATTR {
    load_floats(qkv.dtype, qkv.row(t) + row_bytes(qkv.dtype, h * a.head_dim), a.head_dim, values);
    if (norm.present()) normalise(values, norm.as<float>(), a.head_dim, a.norm_epsilon);
    if (turn) rotate(values, rotation, partners);
    store_floats(dtype, values, a.head_dim, out);
  };
  for (int64_t h = 0; h < a.q_heads; ++h) {
    head(h, op.inputs[rope_kv::q_norm], true, q.dtype, q.row(t) + row_bytes(q.dtype, h * a.head_dim));
  }
  for (int64_t h = 0; h < a.kv_heads; ++h) {
    head(a.q_heads + h, op.inputs[rope_kv::k_norm], true, k.dtype, cache_row(k, table, sequence, position, h));
    head(a.q_heads + a.kv_heads + h, Tensor{}, false, v.dtype, cache_row(v, table, sequence, position, h));
  }
}

RopeToken make_rope_token() { return rope_token; }

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rafter {

namespace {

HWY_EXPORT(make_rope_token);

int64_t room_floats(const OpView& op) { return 5 * ((op.attrs<RopeKvAttrs>().head_dim + 15) / 16 * 16); }

void launch(const OpView& op, Stream&) {
  const auto token = HWY_DYNAMIC_DISPATCH(make_rope_token)();
  ThreadPool& threads = cpu_threads();
  const int64_t tokens = op.inputs[rope_kv::qkv].shape[0];
  const auto share = [&](int thread, int64_t begin, int64_t end) {
    float* room = static_cast<float*>(op.workspace) + thread * room_floats(op);
    for (int64_t t = begin; t < end; ++t) token(op, t, room);
  };
  if (tokens <= 1) return share(0, 0, tokens);  // too little to wake anyone
  threads.run([&](int thread) { share(thread, tokens * thread / threads.size(), tokens * (thread + 1) / threads.size()); });
}

}  // namespace

Kernel rope_cpu_table() {
  return {.op = OpKind::rope_kv,
          .device = DeviceKind::cpu,
          .name = "02_table",
          .step = 2,
          .supports = [](const OpView&) { return HWY_DYNAMIC_DISPATCH(make_rope_token)() != nullptr; },
          .launch = launch,
          .workspace = [](const OpView& op) { return cpu_threads().size() * room_floats(op) * 4; }};
}

}  // namespace rafter
#endif
