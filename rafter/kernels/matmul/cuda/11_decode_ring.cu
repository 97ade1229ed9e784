// Step 11: one persistent block per SM streams its share of the weights through a ring in shared memory, filled by
// Hopper's bulk copies.
//
// Registers hold what a thread has asked for only while the thread waits for it; a ring keeps 96 KB per SM on the way at
// all times, whatever the math warps are doing. Under programmatic dependent launch that pays twice: the ring fills while
// the kernel before this one drains, so that its first 12 MB over the chip cost nothing, and DRAM hardly sees the boundary.
//
// Roles by warp: a producer copies rows (its lanes one row each), `warps` math warps multiply, one finisher adds up their
// partial sums and writes y. All meet at barriers in shared memory; no warp ever waits for the whole block.
//   tile:  kRows rows of the weights (kRows / 2 gates and as many ups under SwiGLU); block b takes tiles b, b + grid, ...
//   stage: a tile's next `warps` x 256 columns. Math thread i owns chunk i of each stage, and so always the same columns:
//          it stages its own x, and no barrier is needed for that.
#include <algorithm>

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/bulk_copy.cuh"
#include "rafter/kernels/cuda/device_limits.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/matmul/cuda/decode.h"
#include "rafter/kernels/matmul/cuda/decode_args.cuh"
#include "rafter/kernels/matmul/cuda/decode_config.h"
#include "rafter/kernels/matmul/cuda/decode_math.cuh"

namespace rafter::decode {
namespace {

using cuda::Barrier;
using cuda::kWarp;

inline constexpr int kMaxMathWarps = 14;
inline constexpr int kSlots = 4;  // tiles whose partial sums may wait for the finisher
inline constexpr int kMaxStages = 32;
inline constexpr size_t kSharedLimit = 220 * 1024;

// Shared memory: the ring, then x, then this. Who wrote or read a partial sum arrives for itself. One lane that arrives for its
// warp after a __syncwarp() is as right, but racecheck cannot see it, and it costs the 1.5B model 1% of a step on an H200.
template <int kValues, int kTokens>
struct Shared {
  Barrier full[kMaxStages], empty[kMaxStages];  // of the ring
  Barrier ready[kSlots], taken[kSlots];         // of the partial sums
  float partial[kSlots][kMaxMathWarps][kValues];
  float squares[kTokens][kMaxMathWarps];
};

// Position in a ring of `size`: index and parity of its current round.
struct Cursor {
  int index = 0;
  uint32_t parity = 0;
  __device__ void advance(int size) {
    if (++index == size) index = 0, parity ^= 1;
  }
};

// What all roles agree on.
struct Layout {
  int math_warps, stages;
  int stage_columns;    // math_warps * 256
  int stages_per_tile;  // along K
  int outputs_per_tile, tiles;

  template <int kRows>
  __device__ static Layout of(const Args& a, int stages) {
    Layout l;
    l.math_warps = static_cast<int>(blockDim.x) / kWarp - 2;
    l.stages = stages;
    l.stage_columns = l.math_warps * kWarp * kChunk;
    l.stages_per_tile = (a.k + l.stage_columns - 1) / l.stage_columns;
    l.outputs_per_tile = a.swiglu ? kRows / 2 : kRows;
    l.tiles = (a.outputs + l.outputs_per_tile - 1) / l.outputs_per_tile;
    return l;
  }
};

template <int kRows>
__device__ void produce(const Args& a, const Layout& layout, unsigned char* ring, Barrier* full, Barrier* empty, int lane) {
  const uint64_t policy = cuda::evict_first_policy();
  const int row_bytes = layout.stage_columns * 2;  // in a stage
  const int up = lane / layout.outputs_per_tile;   // 1 for the lanes that copy up rows
  Cursor cursor;
  for (int tile = static_cast<int>(blockIdx.x); tile < layout.tiles; tile += static_cast<int>(gridDim.x)) {
    const int output = tile * layout.outputs_per_tile + lane - up * layout.outputs_per_tile;
    const bool copies = lane < kRows && output < a.outputs;
    const int rows = __popc(__ballot_sync(cuda::kFullMask, copies));
    const unsigned char* row = copies ? a.weights.row(output + up * a.outputs) : nullptr;
#pragma unroll 1
    for (int s = 0; s < layout.stages_per_tile; ++s) {
      const int bytes = min(row_bytes, a.k * 2 - s * row_bytes);
      empty[cursor.index].wait(cursor.parity ^ 1);
      if (lane == 0) full[cursor.index].arrive_expecting(static_cast<uint32_t>(rows * bytes));
      __syncwarp();
      if (copies) {
        cuda::copy_bulk(ring + (cursor.index * kRows + lane) * row_bytes, row + s * row_bytes, static_cast<uint32_t>(bytes),
                        full[cursor.index], policy);
      }
      cursor.advance(layout.stages);
    }
  }
}

template <typename Weight, int kTokens, int kRows>
__device__ void multiply(const Args& a, const Layout& layout, const unsigned char* ring, const StagedX& x,
                         Shared<kRows * kTokens, kTokens>& shared, int thread) {
  constexpr int kValues = kRows * kTokens;
  const int lane = thread % kWarp, warp = thread / kWarp, threads = layout.math_warps * kWarp;
  prefetch_norm(a, thread, threads);
  cuda::wait_for_previous();
  stage_x(a, x, shared.squares, thread, threads);
  Cursor stage, slot;
  for (int tile = static_cast<int>(blockIdx.x); tile < layout.tiles; tile += static_cast<int>(gridDim.x)) {
    float sum[kValues] = {};
#pragma unroll 1
    for (int s = 0; s < layout.stages_per_tile; ++s) {
      const int chunk = s * threads + thread;
      const uint4* weights = reinterpret_cast<const uint4*>(ring) + stage.index * kRows * threads + thread;
      shared.full[stage.index].wait(stage.parity);
      if (chunk < x.chunks) {
        RawChunk<Weight> raw[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) raw[r].raw[0] = weights[r * threads];
#pragma unroll
        for (int t = 0; t < kTokens; ++t) {
          float in[kChunk];
          x.read(t, chunk, in);
#pragma unroll
          for (int r = 0; r < kRows; ++r) sum[r * kTokens + t] = raw[r].dot(in, sum[r * kTokens + t]);
        }
      }
      __syncwarp();
      if (lane == 0) shared.empty[stage.index].arrive();
      stage.advance(layout.stages);
    }
    const float value = reduce_to_lanes<kValues>(sum, lane);
    shared.taken[slot.index].wait(slot.parity ^ 1);
    if (lane % (kWarp / kValues) == 0) {  // the lanes that share a value hold the same
      shared.partial[slot.index][warp][value_of_lane<kValues>(lane)] = value;
      shared.ready[slot.index].arrive();
    }
    slot.advance(kSlots);
  }
}

template <int kTokens, int kRows>
__device__ void finish_tiles(const Args& a, const Layout& layout, Shared<kRows * kTokens, kTokens>& shared, int lane) {
  constexpr int kValues = kRows * kTokens;
  const int mine = value_of_lane<kValues>(lane), r = mine / kTokens, t = mine % kTokens;
  const bool finishes = lane % (kWarp / kValues) == 0 && t < a.tokens && r < layout.outputs_per_tile;
  float norm_scale = 0;
  Cursor slot;
  if (a.bias != nullptr) {  // of one tile to a lane
    const int tile = static_cast<int>(blockIdx.x + lane * gridDim.x);
    if (tile < layout.tiles) prefetch(a.bias + tile * layout.outputs_per_tile);
  }
  cuda::wait_for_previous();
  for (int tile = static_cast<int>(blockIdx.x); tile < layout.tiles; tile += static_cast<int>(gridDim.x)) {
    const int output = tile * layout.outputs_per_tile + r;
    Finish ends;
    if (finishes && output < a.outputs) ends.load(a, t, output);  // before the wait: it hides behind the dot products
    shared.ready[slot.index].wait(slot.parity);
    const float value = sum_of<kMaxMathWarps>(&shared.partial[slot.index][0][mine], kValues, layout.math_warps);
    if (norm_scale == 0) {
      norm_scale = a.norm != nullptr ? inverse_rms(a, sum_of<kMaxMathWarps>(shared.squares[t], 1, layout.math_warps)) : 1.0f;
    }
    shared.taken[slot.index].arrive();
    const float up = __shfl_xor_sync(cuda::kFullMask, value, kWarp / 2);  // of the row kRows / 2 further
    if (finishes && output < a.outputs) ends.store(a, t, output, value, up, norm_scale);
    slot.advance(kSlots);
  }
}

template <typename Weight, int kTokens, int kRows>
__global__ void __launch_bounds__((kMaxMathWarps + 2) * kWarp) decode_ring(const __grid_constant__ Args a, int stages) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Layout layout = Layout::of<kRows>(a, stages);
  unsigned char* const ring = memory;
  const StagedX x{reinterpret_cast<float4*>(ring + stages * kRows * layout.stage_columns * 2), a.k / kChunk};
  auto& shared = *reinterpret_cast<Shared<kRows * kTokens, kTokens>*>(x.planes + kTokens * 2 * x.chunks);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  cuda::allow_next();
  if (thread == 0) {
#pragma unroll 1
    for (int s = 0; s < stages; ++s) {
      shared.full[s].init(1);
      shared.empty[s].init(static_cast<uint32_t>(layout.math_warps));
    }
    for (int s = 0; s < kSlots; ++s) {
      shared.ready[s].init(static_cast<uint32_t>(layout.math_warps * kRows * kTokens));
      shared.taken[s].init(kWarp);
    }
    cuda::publish_barriers();
  }
  __syncthreads();

  if (warp < layout.math_warps) {
    multiply<Weight, kTokens, kRows>(a, layout, ring, x, shared, thread);
  } else if (warp == layout.math_warps) {
    produce<kRows>(a, layout, ring, shared.full, shared.empty, lane);
  } else {
    finish_tiles<kTokens, kRows>(a, layout, shared, lane);
  }
}

struct Plan {
  int stages;
  size_t bytes;
};

template <int kTokens, int kRows>
Plan plan(int64_t k, int math_warps, int block_bytes, int64_t stages_needed) {
  const int stage_bytes = kRows * math_warps * kWarp * kChunk * 2;
  const size_t rest = static_cast<size_t>(kTokens * k) * sizeof(float) + sizeof(Shared<kRows * kTokens, kTokens>);
  const auto room = [&](size_t bytes) {
    return bytes > rest ? static_cast<int64_t>((bytes - rest) / static_cast<size_t>(stage_bytes)) : 0;
  };
  // At least three stages, even where that takes more than the block's share.
  const int64_t wanted = std::max<int64_t>(room(static_cast<size_t>(block_bytes)), 3);
  int64_t stages = std::min<int64_t>({wanted, room(kSharedLimit), kMaxStages, stages_needed});
  stages = std::max<int64_t>(stages, 1);
  return {static_cast<int>(stages), static_cast<size_t>(stages * stage_bytes) + rest};
}

template <typename Weight, int kTokens, int kRows>
void launch_shape(const Args& a, const RingConfig& config, Stream& stream) {
  const auto kernel = decode_ring<Weight, kTokens, kRows>;
  static const bool ready = [&] {
    cuda::share_whole_sm(kernel);
    cuda::allow_shared(kernel, kSharedLimit);
    return true;
  }();
  static_cast<void>(ready);
  const int64_t tiles = cuda::ceil_div(a.outputs, a.swiglu ? kRows / 2 : kRows);
  const int64_t grid = std::min<int64_t>(tiles, static_cast<int64_t>(config.blocks_per_sm) * cuda::multiprocessors());
  const int64_t stages_per_tile = cuda::ceil_div(a.k, static_cast<int64_t>(config.warps) * kWarp * kChunk);
  const Plan p = plan<kTokens, kRows>(a.k, config.warps, config.block_bytes, cuda::ceil_div(tiles, grid) * stages_per_tile);
  cuda::launch(stream,
               {.grid = dim3(static_cast<unsigned>(grid)),
                .block = dim3(static_cast<unsigned>((config.warps + 2) * kWarp)),
                .shared_bytes = p.bytes,
                .dependent = cuda::Dependent::early},
               kernel, a, p.stages);
}

template <typename Weight, int kTokens>
void launch_tokens(const Args& a, const RingConfig& config, Stream& stream) {
  if (config.rows == 2) return launch_shape<Weight, kTokens, 2>(a, config, stream);
  if (config.rows == 4 || kTokens > 4) return launch_shape<Weight, kTokens, 4>(a, config, stream);
  if constexpr (kTokens <= 4) launch_shape<Weight, kTokens, 8>(a, config, stream);
}

template <typename Weight>
void launch_weight(const Args& a, Stream& stream) {
  const RingConfig config = ring_config({a.tokens, a.n, a.k, a.swiglu, cuda::multiprocessors()});
  if (a.tokens == 1) return launch_tokens<Weight, 1>(a, config, stream);
  if (a.tokens == 2) return launch_tokens<Weight, 2>(a, config, stream);
  launch_tokens<Weight, 4>(a, config, stream);
}

// Bulk copies in the GPU and in this build, and shared memory for a ring.
bool device_supports() {
  static const bool holds = cuda::architecture() >= 90 && static_cast<size_t>(cuda::shared_per_block()) >= kSharedLimit &&
                            cuda::compiled_for(decode_ring<cuda::bf16, 1, 4>, 90);
  return holds;
}

// x must leave the ring room in shared memory.
bool supports(const OpView& op) {
  if (!device_supports() || !fits(op, kChunk) || !weights_aligned(op)) return false;
  const DType weight = op.inputs[matmul::weights].dtype;
  const int64_t tokens = op.inputs[matmul::x].shape.rows(), k = op.inputs[matmul::x].shape.last();
  return (weight == DType::bf16 || weight == DType::f16) && tokens <= 4 && (tokens == 3 ? 4 : tokens) * k * 4 <= 64 * 1024;
}

void launch(const OpView& op, Stream& stream) {
  if (!weights_aligned(op)) return launch_rows(op, stream);  // a misaligned view, which shapes do not show
  const Args a = make_args(op, 0, op.inputs[matmul::x].shape.rows());
  if (op.inputs[matmul::weights].dtype == DType::bf16) {
    launch_weight<cuda::bf16>(a, stream);
  } else {
    launch_weight<cuda::f16>(a, stream);
  }
}

}  // namespace

void register_ring(Registry& registry) {
  registry.add({.op = OpKind::matmul,
                .device = DeviceKind::cuda,
                .name = "11_decode_ring",
                .step = 11,
                .supports = supports,
                .launch = launch});
}

}  // namespace rafter::decode
