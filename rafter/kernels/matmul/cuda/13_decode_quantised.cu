// Step 13: weights in a block format times a few tokens, as integers.
//
// Each block quantises x for itself, to integers of two int8 limbs in groups of 32 (kernels/quant/cuda/quantise.cuh): a few
// microseconds' worth of launch saved for a little arithmetic repeated. A warp then takes two rows of the weights (a gate
// and its up under SwiGLU), a lane one group of 32 of each at a time: eight dp4a per limb and token, then one scale. The
// groups of a lane are added in order and the lanes in a fixed tree, whatever the number of tokens.
//
// As in step 10, the first groups of weights are requested before the kernel before this one has ended.
#include <algorithm>

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/device_limits.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/cuda/reduce.cuh"
#include "rafter/kernels/matmul/cuda/decode.h"
#include "rafter/kernels/matmul/cuda/decode_args.cuh"
#include "rafter/kernels/matmul/cuda/decode_math.cuh"
#include "rafter/kernels/quant/cuda/quantise.cuh"
#include "rafter/kernels/quant/cuda/weight_groups.cuh"

namespace rafter::decode {
namespace {

using cuda::kWarp;

inline constexpr int kWarps = 4;
inline constexpr int kRows = 2;
inline constexpr int kBlocksPerSm = 8;
inline constexpr int kChunksPerGroup = quant::kGroupSize / kChunk;  // lanes that quantise a group together
inline constexpr size_t kSharedLimit = 98 * 1024;                   // every GPU since sm_80 lets a block have 99

// Eight values of a group that four neighbouring lanes hold.
struct QuantisedChunk {
  uint2 limbs[quant::kLimbs];
  float scale;
  int sum;  // of the group
};

// x as limbs in shared memory. The halves of the groups lie in planes of their own, so that the 16-byte reads of
// neighbouring lanes fall into different banks.
struct QuantisedX {
  uint4* planes;    // [tokens][limbs][2][groups]
  float2* factors;  // [tokens][groups]: scale, and sum of the values
  int groups;

  __device__ uint4& half(int t, int limb, int which, int group) const {
    return planes[((t * quant::kLimbs + limb) * 2 + which) * groups + group];
  }
  __device__ void write(int t, int chunk, const QuantisedChunk& q) const {
    const int group = chunk / kChunksPerGroup, part = chunk % kChunksPerGroup;
#pragma unroll
    for (int limb = 0; limb < quant::kLimbs; ++limb) {
      reinterpret_cast<uint2*>(&half(t, limb, part / 2, group))[part % 2] = q.limbs[limb];
    }
    if (part == 0) factors[t * groups + group] = {q.scale, static_cast<float>(q.sum)};
  }
};

__device__ QuantisedChunk quantise_chunk(const float (&in)[kChunk]) {
  const auto over_group = [](auto value, auto fold) {
    value = fold(value, __shfl_xor_sync(cuda::kFullMask, value, 1));
    return fold(value, __shfl_xor_sync(cuda::kFullMask, value, 2));
  };
  float top = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) top = fmaxf(top, quant::magnitude(in[i]));
  const quant::GroupScale group = quant::group_scale(over_group(top, [](float a, float b) { return fmaxf(a, b); }));
  uint32_t word[quant::kLimbs][2] = {};
  int sum = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const int q = quant::quantised(in[i], group.inverse);
#pragma unroll
    for (int limb = 0; limb < quant::kLimbs; ++limb) {
      word[limb][i / 4] |= (static_cast<uint32_t>(quant::limb(q, limb)) & 255u) << (i % 4 * 8);
    }
    sum += q;
  }
  return {
      {{word[0][0], word[0][1]}, {word[1][0], word[1][1]}}, group.scale, over_group(sum, [](int a, int b) { return a + b; })};
}

// 1 / rms of token t of x, by the whole block; ends with a barrier. In double precision, as the CPU's, so that the same
// values are quantised on both.
__device__ float measure(const Args& a, int t, double (&scratch)[kWarp]) {
  double sum = 0;
  for (int c = static_cast<int>(threadIdx.x); c < a.k / kChunk; c += kWarps * kWarp) {
    float in[kChunk];
    load_x(a, t, c, in);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sum += static_cast<double>(in[i]) * in[i];
  }
  sum = cuda::block_sum(sum, scratch);
  __syncthreads();
  return static_cast<float>(1.0 / sqrt(sum / a.k + a.epsilon));
}

template <int kTokens>
__device__ void quantise_x(const Args& a, const QuantisedX& out) {
  __shared__ double scratch[kWarp];
  const int chunks = a.k / kChunk, whole_warps = (chunks + kWarp - 1) / kWarp * kWarp;
  for (int t = 0; t < kTokens; ++t) {
    const float norm_scale = a.norm != nullptr && t < a.tokens ? measure(a, t, scratch) : 1.0f;
    for (int c = static_cast<int>(threadIdx.x); c < whole_warps; c += kWarps * kWarp) {
      float in[kChunk] = {};
      if (c < chunks && t < a.tokens) {
        load_x(a, t, c, in);
        if (a.norm != nullptr) {
          float scale[kChunk];
          load_norm(a, c, scale);
#pragma unroll
          for (int i = 0; i < kChunk; ++i) in[i] = __fmul_rn(in[i], __fmul_rn(norm_scale, scale[i]));
        }
      }
      const QuantisedChunk q = quantise_chunk(in);
      if (c < chunks) out.write(t, c, q);
    }
  }
}

// A group of weights times a group of x.
template <bool kTwoScales>
__device__ float dot(const quant::UnpackedGroup& w, const QuantisedX& x, int t, int group) {
  constexpr int kParts = kTwoScales ? 2 : 1;
  const float2 factors = x.factors[t * x.groups + group];
  int dots[quant::kLimbs][kParts] = {};
#pragma unroll
  for (int limb = 0; limb < quant::kLimbs; ++limb) {
    const uint4 first = x.half(t, limb, 0, group), second = x.half(t, limb, 1, group);
    const uint32_t q[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      int& dot = dots[limb][i * kParts / 8];
      dot = __dp4a(static_cast<int>(w.q[i]), static_cast<int>(q[i]), dot);
    }
  }
  float whole;
  if constexpr (kTwoScales) {
    whole = quant::join_halves(w.multiplier[0], quant::join(dots[0][0], dots[1][0]),  //
                               w.multiplier[1], quant::join(dots[0][1], dots[1][1]));
  } else {
    whole = static_cast<float>(quant::join(dots[0][0], dots[1][0]) - w.offset * static_cast<int>(factors.y));
  }
  return factors.x * (w.scale * whole + w.minimum * factors.y);
}

template <DType kFormat, int kAlign, int kTokens>
__global__ void __launch_bounds__(kWarps* kWarp) decode_quantised(const __grid_constant__ Args a) {
  using Raw = quant::RawGroup<kFormat>;
  constexpr int kValues = kRows * kTokens;
  extern __shared__ uint4 shared[];
  cuda::allow_next();
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const QuantisedX x{shared, reinterpret_cast<float2*>(shared + kTokens * quant::kLimbs * 2 * (a.k / quant::kGroupSize)),
                     a.k / quant::kGroupSize};
  const int outputs_per_set = a.swiglu ? 1 : kRows, sets = (a.outputs + outputs_per_set - 1) / outputs_per_set;
  const int stride = static_cast<int>(gridDim.x) * kWarps;
  int set = static_cast<int>(blockIdx.x) * kWarps + warp;

  const unsigned char* row[kRows];
  Raw raw[kRows];
  const auto locate = [&] {  // where y has no second column, the first stands in and its result is dropped
    const int output = min(set, sets - 1) * outputs_per_set;
    row[0] = a.weights.row(output);
    row[1] = a.weights.row(a.swiglu ? output + a.outputs : min(output + 1, a.outputs - 1));
  };
  const auto request = [&](int group) {
    if (group >= x.groups) return;
#pragma unroll
    for (int r = 0; r < kRows; ++r) raw[r].template load<kAlign>(row[r], group);
  };
  locate();
  request(lane);

  cuda::wait_for_previous();
  quantise_x<kTokens>(a, x);
  __syncthreads();

  const int mine = value_of_lane<kValues>(lane), r = mine / kTokens, t = mine % kTokens;
  while (set < sets) {
    const int output = set * outputs_per_set + r;
    float sum[kValues] = {};
    for (int group = lane; group < x.groups; group += kWarp) {
      quant::UnpackedGroup w[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) w[i] = raw[i].unpack(group);
      request(group + kWarp);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int token = 0; token < kTokens; ++token) {
          sum[i * kTokens + token] += dot<Raw::kTwoScales>(w[i], x, token, group);
        }
      }
    }
    set += stride;
    locate();
    if (set < sets) request(lane);
    const float value = reduce_to_lanes<kValues>(sum, lane);
    const float up = __shfl_xor_sync(cuda::kFullMask, value, kWarp / 2);  // of the set's second row
    if (lane % (kWarp / kValues) == 0 && t < a.tokens && r < outputs_per_set && output < a.outputs) {
      Finish ends;
      ends.load(a, t, output);
      ends.store(a, t, output, value, up, 1.0f);
    }
  }
}

size_t shared_bytes(int tokens, int64_t k) {
  const auto factors = k / quant::kGroupSize * static_cast<int64_t>(sizeof(float2));
  return static_cast<size_t>(tokens) * static_cast<size_t>(k * quant::kLimbs + factors);
}

template <DType kFormat, int kAlign, int kTokens>
void launch_shape(const Args& a, Stream& stream) {
  const auto kernel = decode_quantised<kFormat, kAlign, kTokens>;
  static const bool ready = [&] {
    cuda::share_whole_sm(kernel);
    cuda::allow_shared(kernel, kSharedLimit);
    return true;
  }();
  static_cast<void>(ready);
  const int64_t sets = cuda::ceil_div(a.outputs, a.swiglu ? 1 : kRows);
  const int64_t most = static_cast<int64_t>(kBlocksPerSm) * cuda::multiprocessors();
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(std::min(cuda::ceil_div(sets, kWarps), most))),
                .block = dim3(kWarps * kWarp),
                .shared_bytes = shared_bytes(kTokens, a.k),
                .dependent = cuda::Dependent::early},
               kernel, a);
}

bool aligned_to(const Args& a, int64_t bytes) {
  for (int i = 0; i < 3; ++i) {
    if ((reinterpret_cast<uintptr_t>(a.weights.data[i]) | static_cast<uintptr_t>(a.weights.stride[i])) %
            static_cast<uintptr_t>(bytes) !=
        0) {
      return false;
    }
  }
  return true;
}

template <DType kFormat>
void launch_format(const OpView& op, Stream& stream) {
  constexpr int kAlign = quant::RawGroup<kFormat>::kAlign;
  const int64_t tokens = op.inputs[matmul::x].shape.rows(), k = op.inputs[matmul::x].shape.last();
  // As many tokens at a time as leave room for x in shared memory.
  int at_once = tokens == 1 ? 1 : tokens <= 4 ? 4 : 8;
  while (at_once > 1 && shared_bytes(at_once, k) > kSharedLimit) at_once = at_once == 8 ? 4 : 1;
  for (int64_t first = 0; first < tokens; first += at_once) {
    const Args a = make_args(op, first, std::min<int64_t>(at_once, tokens - first));
    if (kAlign > 2 && !aligned_to(a, kAlign)) {
      at_once = 1;
      launch_shape<kFormat, 2, 1>(make_args(op, first, 1), stream);
    } else if (at_once == 1) {
      launch_shape<kFormat, kAlign, 1>(a, stream);
    } else if (at_once == 4) {
      launch_shape<kFormat, kAlign, 4>(a, stream);
    } else {
      launch_shape<kFormat, kAlign, 8>(a, stream);
    }
  }
}

bool supports(const OpView& op) {
  if (!is_quantised(op.inputs[matmul::weights].dtype) || !fits(op, quant::kGroupSize)) return false;
  for (int i = 0; i < matmul::weight_count(op); ++i) {
    if (op.inputs[static_cast<size_t>(matmul::weights + i)].row_stride % 2 != 0) return false;
  }
  return shared_bytes(1, op.inputs[matmul::x].shape.last()) <= kSharedLimit;
}

void launch(const OpView& op, Stream& stream) {
  switch (op.inputs[matmul::weights].dtype) {
    case DType::q4_0:
      return launch_format<DType::q4_0>(op, stream);
    case DType::q4_1:
      return launch_format<DType::q4_1>(op, stream);
    case DType::q5_0:
      return launch_format<DType::q5_0>(op, stream);
    case DType::q5_1:
      return launch_format<DType::q5_1>(op, stream);
    case DType::q8_0:
      return launch_format<DType::q8_0>(op, stream);
    case DType::q4_k:
      return launch_format<DType::q4_k>(op, stream);
    case DType::q5_k:
      return launch_format<DType::q5_k>(op, stream);
    default:
      return launch_format<DType::q6_k>(op, stream);
  }
}

}  // namespace

void register_quantised(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "13_decode_quantised",
                .step = 13,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::decode
