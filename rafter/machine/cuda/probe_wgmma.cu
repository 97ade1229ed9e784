// Hopper's tensor cores at their full rate: wgmma, by type.
//
// Two warpgroups on every SM, each with a 64 x 256 tile of sums, its own A and a B shared with the other, as in a matrix
// product of 128 x 256 tiles; operands are normal values in swizzled shared memory (for bf16 also with A in registers). A pass
// is eight instructions over 256 bytes of K and one group; the next is issued while it runs, so the queue never empties. Passes
// add A B and -A B in turn. In the machine code a round is 16 HGMMA (QGMMA, IGMMA) and two waits that leave one group running;
// the descriptors' arithmetic, some 60 instructions, hides behind 128 cycles of each.
//
// Expect on an SM and cycle 1024 multiply-adds of bf16 and f16, half of tf32 and twice of fp8 and int8 (an H100 or H200 at
// 1.98 GHz: 1070 TFLOP/s of bf16 in a burst); sustained it is the power limit that decides, at 600 to 800 TFLOP/s.
// Nothing is added where the GPU, or the build (sm_90 without its "a"), has no wgmma: sm_100 has other instructions for it.
#include <type_traits>

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/operands.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/roof.h"
#include "rafter/machine/cuda/stopwatch.cuh"
#include "rafter/machine/cuda/wgmma.cuh"

namespace rafter::cuda {

namespace {

constexpr int kGroups = 2, kThreads = 128 * kGroups;  // warpgroups
constexpr int kTiles = 2;                             // of K, in a pass
constexpr int kRowWords = kTiles * wgmma::kTileBytes / 4;
constexpr int kRows = kGroups * wgmma::kRows;

// Rows of A, its negative and B, each tile by tile.
constexpr int kTileWordsA = wgmma::kRows * wgmma::kTileBytes / 4, kTileWordsB = wgmma::kColumns * wgmma::kTileBytes / 4;
constexpr int kWordsA = 2 * kGroups * kTiles * kTileWordsA, kWordsB = kTiles * kTileWordsB;
constexpr int kSharedBytes = (kWordsA + kWordsB) * 4 + 1024;  // tiles begin on a multiple of 1024

enum class From { shared, registers };

#if RAFTER_HAS_WGMMA
constexpr int kPassSteps = kTiles * wgmma::kSteps;

// A matrix of `rows` rows, row-major, to tiles of `tile_rows` rows and 128 bytes: tile (row block, column block) in order.
__device__ void load_tiles(uint32_t* tiles, const uint32_t* matrix, int rows, int tile_rows) {
  for (int i = threadIdx.x; i < rows * kRowWords; i += kThreads) {
    const int row = i / kRowWords, word = i % kRowWords;
    constexpr int kTileWords = wgmma::kTileBytes / 4;
    const int tile = row / tile_rows * kTiles + word / kTileWords;
    tiles[tile * tile_rows * kTileWords + wgmma::swizzled(row % tile_rows, word % kTileWords)] = matrix[i];
  }
}

// The A of this warpgroup, or its negative, wherever it comes from.
template <From kFrom>
struct OperandA;

template <>
struct OperandA<From::shared> {
  uint64_t tiles[2][kTiles];
  __device__ OperandA(const uint32_t* shared, const uint32_t*, int group) {
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
      const int block = i / kTiles * kGroups + group;
      tiles[i / kTiles][i % kTiles] = wgmma::descriptor(shared + (block * kTiles + i % kTiles) * kTileWordsA);
    }
  }
  __device__ uint64_t step(int sign, int i) const {
    return tiles[sign][i / wgmma::kSteps] + i % wgmma::kSteps * (wgmma::kStepBytes / 16);
  }
};

template <>
struct OperandA<From::registers> {
  uint32_t parts[2][kPassSteps][4];
  __device__ OperandA(const uint32_t*, const uint32_t* matrix, int group) {
    const int thread = threadIdx.x % 128, row = group * wgmma::kRows + thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
    for (int i = 0; i < 2 * kPassSteps * 4; ++i) {
      const int sign = i / (kPassSteps * 4), step = i / 4 % kPassSteps, part = i % 4;
      const int word = step * (wgmma::kStepBytes / 4) + thread % 4 + 4 * (part / 2);
      parts[sign][step][part] = matrix[(sign * kRows + row + 8 * (part % 2)) * kRowWords + word];
    }
  }
  __device__ const uint32_t (&step(int sign, int i) const)[4] { return parts[sign][i]; }
};
#endif

// A holds kRows rows and their negatives, B kColumns, each of kRowWords words. Where `out` is given, block 0 leaves its A B
// there, row-major: what the sums come to after a last pass.
template <typename Type, From kFrom>
__global__ void __launch_bounds__(kThreads, 1)
    run_wgmma(int rounds, const uint32_t* a_rows, const uint32_t* b_rows, Stamp* stamp, double* out) {
#if RAFTER_HAS_WGMMA
  extern __shared__ uint32_t shared[];
  const auto unaligned = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  uint32_t* a_tiles = shared + ((1024 - unaligned % 1024) % 1024) / 4;
  uint32_t* b_tiles = a_tiles + kWordsA;
  load_tiles(a_tiles, a_rows, 2 * kRows, wgmma::kRows);
  load_tiles(b_tiles, b_rows, wgmma::kColumns, wgmma::kColumns);
  const int group = threadIdx.x / 128;
  const OperandA<kFrom> a(a_tiles, a_rows, group);
  const uint64_t b[kTiles] = {wgmma::descriptor(b_tiles), wgmma::descriptor(b_tiles + kTileWordsB)};
  typename Type::Sum d[wgmma::kSums];
#pragma unroll
  for (int i = 0; i < wgmma::kSums; ++i) d[i] = 0;
  wgmma::publish_shared();
  __syncthreads();

  const auto pass = [&](int sign) {  // 0 adds A B, 1 takes it away
    wgmma::fence();
#pragma unroll
    for (int i = 0; i < kPassSteps; ++i) {
      Type::mma(d, a.step(sign, i), b[i / wgmma::kSteps] + i % wgmma::kSteps * (wgmma::kStepBytes / 16));
    }
    wgmma::commit();
    wgmma::wait<1>();
  };
  const Stopwatch watch;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    pass(0);
    pass(1);
  }
  wgmma::wait<0>();
  const Stamp time = watch.read();
  if (blockIdx.x == 0 && threadIdx.x == 0) *stamp = time;
  pass(0);
  wgmma::wait<0>();
  if (out == nullptr || blockIdx.x != 0) return;
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < wgmma::kSums; ++i) {
    const int row = 16 * warp + g + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * t + i % 2;
    out[row * wgmma::kColumns + column] = static_cast<double>(d[i]);
  }
#endif
}

struct Kind {
  const char* name;
  const char* unit;
  Format format;
  double tolerance;
  void (*kernel)(int, const uint32_t*, const uint32_t*, Stamp*, double*);
  const char* remark;
  int depth() const { return kRowWords * 4 / bytes_of(format); }
};

constexpr const char* kNormal = "operands standard normal";

const Kind kKinds[] = {
    {"math.bf16.wgmma", "FLOP/s", Format::bf16, 1e-5, run_wgmma<wgmma::Bf16, From::shared>, kNormal},
    {"math.bf16.wgmma_rs", "FLOP/s", Format::bf16, 1e-5, run_wgmma<wgmma::Bf16, From::registers>,
     "operands standard normal, A from registers"},
    {"math.f16.wgmma", "FLOP/s", Format::f16, 1e-5, run_wgmma<wgmma::F16, From::shared>, kNormal},
    {"math.tf32.wgmma", "FLOP/s", Format::tf32, 1e-5, run_wgmma<wgmma::Tf32, From::shared>, kNormal},
    {"math.fp8.wgmma", "FLOP/s", Format::fp8, 1e-2, run_wgmma<wgmma::Fp8, From::shared>, "e4m3, operands standard normal"},
    {"math.int8.wgmma", "1/s", Format::int8, 0, run_wgmma<wgmma::Int8, From::shared>,
     "integer operations, a multiply-add is two; operands normal of standard deviation 32"},
};

struct Operands {
  Operands(Device& device, Stream& stream, const Kind& kind)
      : host_a(random_operand(kind.format, kRows, kind.depth(), 3)),
        host_b(random_operand(kind.format, wgmma::kColumns, kind.depth(), 4)),
        a(upload(device, stream, with_negative(kind.format, host_a))),
        b(upload(device, stream, host_b)) {}
  Operand host_a, host_b;
  Buffer a, b;
};

void run(Stream& stream, int blocks, const Kind& kind, const Operands& operands, int rounds, Stamp* stamp, double* out) {
  allow_shared(kind.kernel, kSharedBytes);
  launch(stream, {.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(kThreads), .shared_bytes = kSharedBytes},
         kind.kernel, rounds, static_cast<const uint32_t*>(operands.a.data()), static_cast<const uint32_t*>(operands.b.data()),
         stamp, out);
}

bool is_hopper(const DeviceInfo& info) { return info.compute_major == 9 && info.compute_minor == 0; }

}  // namespace

void probe_wgmma(Probing& probing) {
  if (!is_hopper(probing.info())) return;
  GpuTimer timer(probing.device());
  const int blocks = probing.info().multiprocessors;
  double done = 0;
  for (const Kind& kind : kKinds) {
    const Operands operands(probing.device(), timer.stream(), kind);
    const auto work = [&](Stream& stream, int rounds, Stamp* stamp) {
      run(stream, blocks, kind, operands, rounds, stamp, nullptr);
    };
    const double per_round = 2 * 2.0 * kRows * wgmma::kColumns * kind.depth() * blocks;
    add_roof(probing, timer, {kind.name, kind.unit, per_round, work, kind.remark});
    probing.progress(++done / static_cast<double>(std::size(kKinds)), kind.name);
  }
}

std::vector<TileProduct> wgmma_products(Device& device) {
  if (!is_hopper(device.info())) return {};
  const auto stream = device.make_stream();
  const PinnedBuffer stamp(device, sizeof(Stamp));
  std::vector<TileProduct> products;
  for (const Kind& kind : kKinds) {
    const Operands operands(device, *stream, kind);
    std::vector<double> d(static_cast<size_t>(kRows) * wgmma::kColumns);
    const auto bytes = static_cast<int64_t>(d.size() * sizeof(double));
    const Buffer out(device, bytes);
    stream->fill(out.data(), 0xff, bytes);  // NaN: what is not written shows
    *stamp.as<Stamp>() = {};
    run(*stream, 1, kind, operands, 1, stamp.as<Stamp>(), static_cast<double*>(out.data()));
    stream->copy_out(d.data(), out.data(), bytes);
    stream->synchronize();
    if (stamp.as<Stamp>()->cycles == 0) continue;  // built for sm_90, without its "a"
    products.push_back(
        {kind.name, kRows, wgmma::kColumns, kind.depth(), operands.host_a.values, operands.host_b.values, d, kind.tolerance});
  }
  return products;
}

}  // namespace rafter::cuda
