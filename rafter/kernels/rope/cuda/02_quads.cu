// A thread for eight values of a head, two runs of four that hold four pairs between them: few threads, wide accesses and
// no loop, so that a decode step pays little more than the latency of one load. Frequencies and norm weights are fetched
// before the kernel waits for the one before it. Heads whose width is a power of two from 8 to 256.
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/quad.cuh"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/step_launch.h"
#include "rafter/kernels/rope/cuda/problem.cuh"
#include "rafter/kernels/rope/cuda/steps.h"

namespace rafter::rope_kv {

namespace {

constexpr int kThreads = 128;

// Where a head of qkv goes.
enum class Part { q, k, v };

// A thread's eight values of a head.
struct Octet {
  float first[4], second[4];

  __device__ void load(const void* row, DType dtype, int64_t head, int first_at, int second_at) {
    cuda::load_quad(row, dtype, head + first_at, 4, first);
    cuda::load_quad(row, dtype, head + second_at, 4, second);
  }
  __device__ void store(void* row, DType dtype, int64_t head, int first_at, int second_at) const {
    cuda::store_quad(row, dtype, head + first_at, 4, first);
    cuda::store_quad(row, dtype, head + second_at, 4, second);
  }
  __device__ void normalise(const Octet& weight, int lanes, int head_dim, float epsilon) {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) squares += first[i] * first[i] + second[i] * second[i];
    // Over the lanes that share the head, a power of two and aligned to it.
    for (int offset = lanes / 2; offset > 0; offset /= 2) squares += __shfl_xor_sync(cuda::kFullMask, squares, offset);
    const float inverse = 1.0f / sqrtf(squares / static_cast<float>(head_dim) + epsilon);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      first[i] *= inverse * weight.first[i];
      second[i] *= inverse * weight.second[i];
    }
  }
};

__device__ inline void turn(float& a, float& b, const Rotation& by) {
  const float turned = a * by.cosine - b * by.sine;
  b = a * by.sine + b * by.cosine;
  a = turned;
}

__global__ void __launch_bounds__(kThreads) quads(Problem p) {
  cuda::allow_next();
  const int lanes = p.head_dim / 8;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t unit = thread / lanes;
  const auto lane = static_cast<int>(thread % lanes), head = static_cast<int>(unit % p.heads());
  const int64_t t = unit / p.heads(), column = static_cast<int64_t>(head) * p.head_dim;
  const bool inside = t < p.tokens;  // threads outside stay for the shuffles
  const Part part = head < p.q_heads ? Part::q : head < p.q_heads + p.kv_heads ? Part::k : Part::v;
  const int first_at = p.interleaved ? lane * 8 : lane * 4;
  const int second_at = p.interleaved ? lane * 8 + 4 : p.head_dim / 2 + lane * 4;
  float frequency[4];
  cuda::load_quad(p.frequencies + lane * 4, 4, frequency);
  const float* norm = part == Part::q ? p.q_norm : part == Part::k ? p.k_norm : nullptr;
  Octet weight{}, value{};
  if (norm != nullptr) weight.load(norm, DType::f32, 0, first_at, second_at);

  cuda::wait_for_previous();
  const int position = inside ? p.positions[t] : -1;
  if (position >= 0) value.load(p.qkv.row(t), p.qkv.dtype, column, first_at, second_at);
  if (p.q_norm != nullptr || p.k_norm != nullptr) {
    Octet normed = value;
    normed.normalise(weight, lanes, p.head_dim, p.epsilon);
    if (norm != nullptr) value = normed;
  }
  if (part != Part::v && position >= 0) {
    Rotation by[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) by[i] = rotation(position, frequency[i]);
    if (p.interleaved) {
      turn(value.first[0], value.first[1], by[0]);
      turn(value.first[2], value.first[3], by[1]);
      turn(value.second[0], value.second[1], by[2]);
      turn(value.second[2], value.second[3], by[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) turn(value.first[i], value.second[i], by[i]);
    }
  }
  if (!inside) return;
  if (part == Part::q) return value.store(p.q.row(t), p.q.dtype, column, first_at, second_at);  // zeros for padding
  if (position < 0) return;
  const cuda::Rows& cache = part == Part::k ? p.k_cache : p.v_cache;
  const int64_t slot = cuda::cache_row(p.table.of_token(t), p.kv_heads, position, (head - p.q_heads) % p.kv_heads);
  value.store(cache.row(slot), cache.dtype, 0, first_at, second_at);
}

void launch(const OpView& op, Stream& stream) {
  const Problem p = problem(op);
  if (p.tokens == 0) return;
  cuda::launch_in_step<quads>(stream, cuda::blocks_for(p.tokens * p.heads() * (p.head_dim / 8), kThreads), kThreads, p);
}

bool supports(const OpView& op) {
  const int64_t width = op.attrs<RopeKvAttrs>().head_dim;
  return width >= 8 && width <= 256 && (width & (width - 1)) == 0;
}

}  // namespace

void add_02_quads(Registry& registry) {
  registry.add({.op = OpKind::rope_kv,
                .device = DeviceKind::cuda,
                .name = "02_quads",
                .step = 2,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::rope_kv
