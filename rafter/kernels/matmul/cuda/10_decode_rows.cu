// Step 10: each group of warps takes a few rows of the weights and keeps its next loads in flight while it multiplies.
//
// A token's matmul reads every weight once and does two FLOPs with it, so the only thing that counts is to keep DRAM busy:
// about 30 KB in flight per SM. Each lane streams 16-byte chunks of kRows rows, kUnroll chunks of each, one batch ahead of
// the arithmetic; x lies in shared memory as f32, where kRows rows share each read of it. Small matrices have too few rows
// to give each warp its own, so a group's warps split K and add up in a fixed order.
//
// Weights depend on no earlier kernel: the first batch is requested before wait_for_previous(), so that it arrives while
// the kernel before this one still runs. The norm costs no extra pass: x is staged times the norm's weight, and the sum of
// squares, gathered on the way, scales the finished dot products.
#include <algorithm>

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/device_limits.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/cuda/streaming.cuh"
#include "rafter/kernels/matmul/cuda/decode.h"
#include "rafter/kernels/matmul/cuda/decode_args.cuh"
#include "rafter/kernels/matmul/cuda/decode_config.h"
#include "rafter/kernels/matmul/cuda/decode_math.cuh"

namespace rafter::decode {
namespace {

using cuda::kWarp;

inline constexpr int kMaxWarps = 8;
inline constexpr size_t kSharedLimit = 96 * 1024;  // what every GPU since sm_80 lets a block have

template <typename Weight, int kTokens, int kRows, int kUnroll>
struct Worker {
  static constexpr int kValues = kRows * kTokens;

  const Args& a;
  int lane, part, group_warps;  // this warp is the part-th of its group
  int chunks;
  uint64_t policy = cuda::evict_first_policy();
  const unsigned char* row[kRows];
  RawChunk<Weight> loaded[kRows][kUnroll];

  __device__ int chunk(int step, int u) const { return ((step * kUnroll + u) * group_warps + part) * kWarp + lane; }
  __device__ int steps() const { return (chunks + kUnroll * group_warps * kWarp - 1) / (kUnroll * group_warps * kWarp); }

  // Rows of a set; where y has no such column, the last one stands in and its result is dropped.
  __device__ void locate(int set) {
    const int outputs_per_set = a.swiglu ? kRows / 2 : kRows;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int up = r / outputs_per_set;  // 1 in the second half of a SwiGLU set
      const int output = min(set * outputs_per_set + r - up * outputs_per_set, a.outputs - 1);
      row[r] = a.weights.row(output + up * a.outputs);
    }
  }

  template <bool kAligned>
  __device__ void request(int step) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int c = chunk(step, u);
      if (c < chunks) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if constexpr (kAligned) {
            loaded[r][u].load(row[r], c, policy);
          } else {
            loaded[r][u].load_misaligned(row[r], c);
          }
        }
      }
    }
  }

  // Adds the loaded batch times its part of x. The registers of `loaded` are free for the next request once converted.
  __device__ void multiply(int step, const StagedX& x, float (&sum)[kValues]) const {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int c = chunk(step, u);
      if (c < chunks) {
#pragma unroll
        for (int t = 0; t < kTokens; ++t) {
          float in[kChunk];
          x.read(t, c, in);
#pragma unroll
          for (int r = 0; r < kRows; ++r) sum[r * kTokens + t] = loaded[r][u].dot(in, sum[r * kTokens + t]);
        }
      }
    }
  }
};

template <typename Weight, int kTokens, int kRows, int kUnroll, bool kAligned>
__global__ void __launch_bounds__(kMaxWarps* kWarp) decode_rows(const __grid_constant__ Args a, int group_warps) {
  constexpr int kValues = kRows * kTokens;
  static_assert(kValues <= kWarp && (kValues & (kValues - 1)) == 0, "one lane, or several, per value of a set");
  extern __shared__ float4 shared[];
  __shared__ float squares[kTokens][kMaxWarps];
  __shared__ float partial[2][kMaxWarps][kValues];
  cuda::allow_next();

  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  const int groups = warps / group_warps, group = warp / group_warps;
  Worker<Weight, kTokens, kRows, kUnroll> work{a, static_cast<int>(threadIdx.x) % kWarp, warp % group_warps, group_warps,
                                               a.k / kChunk};
  const int outputs_per_set = a.swiglu ? kRows / 2 : kRows;
  const int sets = (a.outputs + outputs_per_set - 1) / outputs_per_set;
  const int stride = static_cast<int>(gridDim.x) * groups, steps = work.steps();
  // Every group of the grid makes the same number of rounds, so that the barrier below is met by all.
  const int rounds = (sets + stride - 1) / stride;
  int set = static_cast<int>(blockIdx.x) * groups + group;
  work.locate(set);
  work.template request<kAligned>(0);
  prefetch_norm(a, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));

  cuda::wait_for_previous();
  const StagedX x{shared, a.k / kChunk};
  stage_x(a, x, squares, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  __syncthreads();

  // What this lane will finish: value `mine` of its set.
  const int mine = value_of_lane<kValues>(work.lane), r = mine / kTokens, t = mine % kTokens;
  const bool finishes = work.part == 0 && work.lane % (kWarp / kValues) == 0 && t < a.tokens && r < outputs_per_set;
  for (int round = 0; round < rounds; ++round) {
    float sum[kValues] = {};
    for (int step = 0; step < steps; ++step) {
      const auto now = work;
      if (step + 1 < steps) {
        work.template request<kAligned>(step + 1);
      } else if (round + 1 < rounds) {
        work.locate(set + stride);
        work.template request<kAligned>(0);
      }
      now.multiply(step, x, sum);
    }
    float value = reduce_to_lanes<kValues>(sum, work.lane);
    if (group_warps > 1) {
      float* slots = partial[round % 2][group * group_warps];
      slots[work.part * kValues + mine] = value;  // lanes that share a value write the same
      __syncthreads();
      value = 0;
      if (work.part == 0) {
        for (int p = 0; p < group_warps; ++p) value += slots[p * kValues + mine];
      }
    }
    const float up = __shfl_xor_sync(cuda::kFullMask, value, kWarp / 2);  // of the row kRows / 2 further
    const int output = set * outputs_per_set + r;
    if (finishes && output < a.outputs) {
      Finish ends;
      ends.load(a, t, output);
      ends.store(a, t, output, value, up, a.norm != nullptr ? inverse_rms(a, sum_of<kMaxWarps>(squares[t], 1, warps)) : 1.0f);
    }
    set += stride;
  }
}

size_t shared_bytes(int tokens, int64_t k) { return static_cast<size_t>(tokens) * static_cast<size_t>(k) * sizeof(float); }

template <typename Weight, int kTokens, int kRows, int kUnroll, bool kAligned>
void launch_shape(const Args& a, const RowsConfig& config, Stream& stream) {
  const auto kernel = decode_rows<Weight, kTokens, kRows, kUnroll, kAligned>;
  static const bool ready = [&] {
    cuda::share_whole_sm(kernel);
    cuda::allow_shared(kernel, kSharedLimit);
    return true;
  }();
  static_cast<void>(ready);
  const int outputs_per_set = a.swiglu ? kRows / 2 : kRows;
  const int64_t sets = cuda::ceil_div(a.outputs, outputs_per_set);
  const int64_t blocks = cuda::ceil_div(sets, config.warps / config.group_warps);
  const int64_t most = static_cast<int64_t>(config.blocks_per_sm) * cuda::multiprocessors();
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(std::min(blocks, most))),
                .block = dim3(static_cast<unsigned>(config.warps * kWarp)),
                .shared_bytes = shared_bytes(kTokens, a.k),
                .dependent = cuda::Dependent::early},
               kernel, a, config.group_warps);
}

template <typename Weight, int kTokens, bool kAligned>
void launch_tokens(const Args& a, const RowsConfig& config, Stream& stream) {
  if constexpr (kTokens == 1 && kAligned) {
    if (config.rows == 4 && config.unroll == 2) return launch_shape<Weight, 1, 4, 2, true>(a, config, stream);
    if (config.rows == 2 && config.unroll == 2) return launch_shape<Weight, 1, 2, 2, true>(a, config, stream);
    if (config.rows == 2 && config.unroll == 4) return launch_shape<Weight, 1, 2, 4, true>(a, config, stream);
    if (config.rows == 8 && config.unroll == 1) return launch_shape<Weight, 1, 8, 1, true>(a, config, stream);
  }
  launch_shape<Weight, kTokens, 4, 1, kAligned>(a, config, stream);
}

template <typename Weight>
void launch_weight(const OpView& op, Stream& stream) {
  const int64_t tokens = op.inputs[matmul::x].shape.rows(), k = op.inputs[matmul::x].shape.last();
  // As many tokens at a time as leave room for x in shared memory.
  int at_once = kMaxTokens;
  while (at_once > 1 && (at_once / 2 >= tokens || shared_bytes(at_once, k) > kSharedLimit)) at_once /= 2;
  const bool aligned = weights_aligned(op);
  for (int64_t first = 0; first < tokens; first += at_once) {
    const Args a = make_args(op, first, std::min<int64_t>(at_once, tokens - first));
    const RowsConfig config = rows_config({a.tokens, a.n, a.k, a.swiglu, cuda::multiprocessors()});
    if (!aligned) {
      at_once = 1;
      launch_tokens<Weight, 1, false>(make_args(op, first, 1), config, stream);
    } else if (at_once == 1) {
      launch_tokens<Weight, 1, true>(a, config, stream);
    } else if (at_once == 2) {
      launch_tokens<Weight, 2, true>(a, config, stream);
    } else if (at_once == 4) {
      launch_tokens<Weight, 4, true>(a, config, stream);
    } else {
      launch_tokens<Weight, 8, true>(a, config, stream);
    }
  }
}

bool supports(const OpView& op) {
  return fits(op, kChunk) && cuda::is_float(op.inputs[matmul::weights].dtype) &&
         shared_bytes(1, op.inputs[matmul::x].shape.last()) <= kSharedLimit;
}

}  // namespace

void launch_rows(const OpView& op, Stream& stream) {
  cuda::with_float_type(op.inputs[matmul::weights].dtype, [&](auto weight) { launch_weight<decltype(weight)>(op, stream); });
}

void register_rows(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "10_decode_rows",
                .step = 10,
                .supports = supports,
                .launch = launch_rows});
}

}  // namespace rafter::decode
