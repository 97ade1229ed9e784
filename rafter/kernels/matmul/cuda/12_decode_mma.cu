// Step 12: the products of two to eight tokens on the tensor cores, with fragments straight from global memory.
//
// With eight tokens the FMAs of step 10 take as long as DRAM does. One mma.m16n8k16 multiplies 16 rows of the weights by
// 8 tokens, and any order of K serves as long as both sides agree on it: lane 4 g + c reads 16 bytes of rows g and g + 8
// at columns 8 c of a step of 32, which are its own fragments for two mma, and the same columns of token g of x. So
// neither side passes through shared memory. Under SwiGLU rows 0..7 are gates and rows 8..15 the ups that go with them.
//
// As in step 10 the warps of a group split K, loads run one batch ahead, and the first batch of weights is requested
// before the kernel before this one has ended. A normed x is rounded to its own dtype, as separate kernels would.
#include <algorithm>

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/device_limits.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/mma.cuh"
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
inline constexpr int kTileRows = 16;
inline constexpr int kStep = 32;  // columns

// Where a lane stands: its rows of the tile, its columns of a step, and its warp's part of K.
struct Place {
  int g, c, part, group_warps, steps;

  template <int kUnroll>
  __device__ int step(int batch, int u) const {
    return (batch * group_warps + part) * kUnroll + u;
  }
  __device__ int column(int step) const { return step * kStep + c * kChunk; }
};

template <int kUnroll>
struct WeightBatch {
  uint4 low[kUnroll], high[kUnroll];  // of rows g and g + 8

  __device__ void request(const unsigned char* low_row, const unsigned char* high_row, const Place& place, int batch,
                          uint64_t policy) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int step = place.step<kUnroll>(batch, u);
      if (step < place.steps) {
        low[u] = cuda::load_streaming(low_row + place.column(step) * 2, policy);
        high[u] = cuda::load_streaming(high_row + place.column(step) * 2, policy);
      }
    }
  }
};

// x[g, column ..], normed and rounded again where there is a norm.
template <typename T>
__device__ uint4 load_token(const Args& a, int g, int column, float norm_scale) {
  if (g >= a.tokens) return {};
  const uint4 raw = *reinterpret_cast<const uint4*>(a.x.row<unsigned char>(g) + column * 2);
  if (a.norm == nullptr) return raw;
  float scale[kChunk];
  cuda::load_floats(a.norm + column, scale);
  const uint32_t in[4] = {raw.x, raw.y, raw.z, raw.w};
  uint32_t out[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = unpack_pair<T>(in[i]);
    out[i] = cuda::pack_pair<T>(pair.x * norm_scale * scale[i * 2], pair.y * norm_scale * scale[i * 2 + 1]);
  }
  return {out[0], out[1], out[2], out[3]};
}

// 1 / rms of every token, by the whole block: warp t of the block takes token t.
__device__ void measure_tokens(const Args& a, float (&scale)[kMaxTokens]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  for (int t = static_cast<int>(threadIdx.x) / kWarp; t < a.tokens; t += warps) {
    float sum = 0;
    for (int c = lane; c < a.k / kChunk; c += kWarp) {
      float in[kChunk];
      load_x(a, t, c, in);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum = fmaf(in[i], in[i], sum);
    }
    sum = cuda::warp_sum(sum);
    if (lane == 0) scale[t] = inverse_rms(a, sum);
  }
  __syncthreads();
}

template <typename T, int kUnroll>
__global__ void __launch_bounds__(kMaxWarps* kWarp) decode_mma(const __grid_constant__ Args a, int group_warps) {
  __shared__ float norm_scale[kMaxTokens];
  __shared__ float partial[2][kMaxWarps][kTileRows][kMaxTokens];
  cuda::allow_next();
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int groups = static_cast<int>(blockDim.x) / kWarp / group_warps, group = warp / group_warps;
  const Place place{lane / 4, lane % 4, warp % group_warps, group_warps, a.k / kStep};
  const int batches = (place.steps + kUnroll * group_warps - 1) / (kUnroll * group_warps);
  const int outputs_per_tile = a.swiglu ? kTileRows / 2 : kTileRows;
  const int tiles = (a.outputs + outputs_per_tile - 1) / outputs_per_tile;
  const int stride = static_cast<int>(gridDim.x) * groups, rounds = (tiles + stride - 1) / stride;
  int tile = static_cast<int>(blockIdx.x) * groups + group;

  // Rows past the last stand for results that are dropped.
  const unsigned char *low_row, *high_row;
  const auto locate = [&] {
    const int output = min(tile * outputs_per_tile + place.g, a.outputs - 1);
    low_row = a.weights.row(output);
    high_row = a.weights.row(a.swiglu ? output + a.outputs : min(output + kTileRows / 2, a.outputs - 1));
  };
  locate();
  const uint64_t policy = cuda::evict_first_policy();
  WeightBatch<kUnroll> weights;
  weights.request(low_row, high_row, place, 0, policy);

  cuda::wait_for_previous();
  if (a.norm != nullptr) measure_tokens(a, norm_scale);
  const float scale = a.norm != nullptr && place.g < a.tokens ? norm_scale[place.g] : 1.0f;
  uint4 x[kUnroll];
  const auto request_x = [&](int batch) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int step = place.step<kUnroll>(batch, u);
      if (step < place.steps) x[u] = load_token<T>(a, place.g, place.column(step), scale);
    }
  };
  request_x(0);

  for (int round = 0; round < rounds; ++round) {
    const int this_tile = tile;
    float sum[4] = {};
    for (int batch = 0; batch < batches; ++batch) {
      const WeightBatch<kUnroll> now = weights;
      uint4 now_x[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) now_x[u] = x[u];
      const bool last = batch + 1 == batches;
      if (last) {
        tile += stride;
        locate();
      }
      if (!last || round + 1 < rounds) {
        weights.request(low_row, high_row, place, last ? 0 : batch + 1, policy);
        request_x(last ? 0 : batch + 1);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (place.step<kUnroll>(batch, u) < place.steps) {  // the same for the whole warp
          cuda::mma<T>(sum, {now.low[u].x, now.high[u].x, now.low[u].y, now.high[u].y}, {now_x[u].x, now_x[u].y});
          cuda::mma<T>(sum, {now.low[u].z, now.high[u].z, now.low[u].w, now.high[u].w}, {now_x[u].z, now_x[u].w});
        }
      }
    }
    auto& mine = partial[round % 2][warp];
    mine[place.g][place.c * 2] = sum[0];
    mine[place.g][place.c * 2 + 1] = sum[1];
    mine[place.g + 8][place.c * 2] = sum[2];
    mine[place.g + 8][place.c * 2 + 1] = sum[3];
    __syncthreads();
    for (int i = place.part * kWarp + lane; i < outputs_per_tile * kMaxTokens; i += group_warps * kWarp) {
      const int r = i / kMaxTokens, t = i % kMaxTokens, output = this_tile * outputs_per_tile + r;
      if (t >= a.tokens || output >= a.outputs) continue;
      float gate = 0, up = 0;
      for (int w = group * group_warps; w < (group + 1) * group_warps; ++w) {
        gate += partial[round % 2][w][r][t];
        if (a.swiglu) up += partial[round % 2][w][r + kTileRows / 2][t];
      }
      Finish ends;
      ends.load(a, t, output);
      ends.store(a, t, output, gate, up, 1.0f);
    }
  }
}

template <typename T, int kUnroll>
void launch_shape(const Args& a, const MmaConfig& config, Stream& stream) {
  const auto kernel = decode_mma<T, kUnroll>;
  static const bool ready = [&] {
    cuda::share_whole_sm(kernel);
    return true;
  }();
  static_cast<void>(ready);
  const int64_t tiles = cuda::ceil_div(a.outputs, a.swiglu ? kTileRows / 2 : kTileRows);
  const int64_t blocks = cuda::ceil_div(tiles, config.warps / config.group_warps);
  const int64_t most = static_cast<int64_t>(config.blocks_per_sm) * cuda::multiprocessors();
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(std::min(blocks, most))),
                .block = dim3(static_cast<unsigned>(config.warps * kWarp)),
                .dependent = cuda::Dependent::early},
               kernel, a, config.group_warps);
}

template <typename T>
void launch_type(const OpView& op, Stream& stream) {
  const Args a = make_args(op, 0, op.inputs[matmul::x].shape.rows());
  const MmaConfig config = mma_config({a.tokens, a.n, a.k, a.swiglu, cuda::multiprocessors()});
  if (config.unroll == 1) return launch_shape<T, 1>(a, config, stream);
  if (config.unroll == 2) return launch_shape<T, 2>(a, config, stream);
  launch_shape<T, 4>(a, config, stream);
}

bool aligned(const OpView& op) { return weights_aligned(op) && make_args(op, 0, 1).x_aligned; }

bool supports(const OpView& op) {
  const DType weight = op.inputs[matmul::weights].dtype;
  return fits(op, kStep) && (weight == DType::bf16 || weight == DType::f16) && op.inputs[matmul::x].dtype == weight &&
         op.inputs[matmul::x].shape.rows() >= 2 && aligned(op);
}

void launch(const OpView& op, Stream& stream) {
  if (!aligned(op)) return launch_rows(op, stream);  // a misaligned view, which shapes do not show
  if (op.inputs[matmul::weights].dtype == DType::bf16) {
    launch_type<cuda::bf16>(op, stream);
  } else {
    launch_type<cuda::f16>(op, stream);
  }
}

}  // namespace

void register_mma(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "12_decode_mma",
                .step = 12,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::decode
