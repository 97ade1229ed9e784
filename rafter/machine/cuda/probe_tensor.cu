// The tensor cores as one warp drives them: mma.sync, by type.
//
// Eight warps an SM, two a scheduler, each with eight independent sums, all operands in registers: two As, their negatives
// and four Bs, normal values. Each sum gets A B, then -A B, and so on. FP16 sums are rated beside FP32 ones, which consumer
// GPUs take at half the rate.
//
// Expect on Hopper about 62% of what wgmma reaches (arXiv 2402.13499): mma.sync cannot feed its tensor cores. Hopper has no
// FP8 mma.sync: the compiler converts, multiplies in FP16 and adds. Ampere and Ada reach their full rate this way.
//
// A round is eight times the eight sums; for FP8 two, since its emulation shows the compiler products that come twice in an
// unrolled loop, and it then makes them once. In the machine code for sm_90a a round holds 64 HMMA, IMMA or DMMA, and for FP8
// 32 HMMA for its 16 products, with three instructions of loop.
#include <cuda_fp16.h>

#include <type_traits>

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/operands.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/roof.h"
#include "rafter/machine/cuda/stopwatch.cuh"

namespace rafter::cuda {

namespace {

#if defined(__CUDA_ARCH__)
constexpr int kArch = __CUDA_ARCH__;
#else
constexpr int kArch = 0;
#endif

constexpr int kThreads = 256, kAs = 2, kBs = 4, kSums = kAs * kBs;

// Who holds what (PTX ISA, "Matrix Fragments"), lane = 4 g + t, for every shape here: part i of A is row g + 8 (i % 2), unit
// t + 4 (i / 2); of B column g, unit t + 4 i; element i of D is row g + 8 (i / 2), column 2 t + i % 2. A unit is a 32-bit word
// of K, or a double.
template <Format kOf, int kK, typename SumType, int kParts, int kArchitecture = 800>
struct Words {
  static constexpr int kPairs = kOf == Format::fp8 ? 1 : 4;  // of passes, A B and -A B, in a round
  static constexpr Format kFormat = kOf;
  static constexpr int kLeastArch = kArchitecture, kRows = 16, kColumns = 8, kDepth = kK, kA = 4, kB = 2, kD = kParts;
  using Part = uint32_t;
  using Sum = SumType;
};

#define RAFTER_MMA_32(SHAPE_AND_TYPES, CONSTRAINT)                                                          \
  asm volatile("mma.sync.aligned." SHAPE_AND_TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                     \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

struct Bf16 : Words<Format::bf16, 16, float, 4> {
  static __device__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    RAFTER_MMA_32("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
  }
};
struct F16 : Words<Format::f16, 16, float, 4> {
  static __device__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    RAFTER_MMA_32("m16n8k16.row.col.f32.f16.f16.f32", "+f");
  }
};
struct Tf32 : Words<Format::tf32, 8, float, 4> {
  static __device__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    RAFTER_MMA_32("m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
  }
};
struct Fp8 : Words<Format::fp8, 32, float, 4, 890> {
  static __device__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    if constexpr (kArch >= 890) RAFTER_MMA_32("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
  }
};
struct Int8 : Words<Format::int8, 32, int, 4> {
  static __device__ void mma(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    RAFTER_MMA_32("m16n8k32.row.col.s32.s8.s8.s32", "+r");
  }
};
#undef RAFTER_MMA_32

// FP16 sums: two in a register.
struct F16Sums : Words<Format::f16, 16, uint32_t, 2> {
  static __device__ void mma(uint32_t (&d)[2], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

template <int kArchitecture, int kM, int kK, int kAParts, int kBParts, int kDParts>
struct Doubles {
  static constexpr int kPairs = 4;
  static constexpr Format kFormat = Format::fp64;
  static constexpr int kLeastArch = kArchitecture, kRows = kM, kColumns = 8, kDepth = kK;
  static constexpr int kA = kAParts, kB = kBParts, kD = kDParts;
  using Part = double;
  using Sum = double;
};
struct Fp64 : Doubles<800, 8, 4, 1, 1, 2> {
  static __device__ void mma(double (&d)[2], const double (&a)[1], const double (&b)[1]) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[0]), "d"(b[0]));
  }
};
struct Fp64Wide : Doubles<900, 16, 16, 8, 4, 4> {
  static __device__ void mma(double (&d)[4], const double (&a)[8], const double (&b)[4]) {
    if constexpr (kArch >= 900) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
          "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
          : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
          : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
            "d"(b[2]), "d"(b[3]));
    }
  }
};

template <typename S>
__device__ double element(const typename S::Sum (&d)[S::kD], int i) {
  if constexpr (std::is_same_v<typename S::Sum, uint32_t>) {
    return static_cast<double>(__half2float(__ushort_as_half(static_cast<unsigned short>(d[i / 2] >> 16 * (i % 2)))));
  } else {
    return static_cast<double>(d[i]);
  }
}

// A holds the rows of two As and of their negatives, B the columns of four Bs. Where `out` is given, block 0 leaves the
// product of the two As and four Bs there, row-major: what the sums come to after a last A B.
template <typename S>
__global__ void __launch_bounds__(kThreads)
    run_mma(int rounds, const void* a_data, const void* b_data, Stamp* stamp, double* out) {
  if (kArch < S::kLeastArch) return;  // no code for this GPU: the stamp stays empty
  using Part = typename S::Part;
  constexpr int kUnits = S::kDepth * bytes_of(S::kFormat) / int{sizeof(Part)};
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  Part a[2 * kAs][S::kA], b[kBs][S::kB];
  typename S::Sum d[kSums][S::kD] = {};
#pragma unroll
  for (int i = 0; i < 2 * kAs * S::kA; ++i) {
    const int matrix = i / S::kA, part = i % S::kA;
    const int row = matrix * S::kRows + g + 8 * (part % 2);
    a[matrix][part] = static_cast<const Part*>(a_data)[row * kUnits + t + 4 * (part / 2)];
  }
#pragma unroll
  for (int i = 0; i < kBs * S::kB; ++i) {
    const int matrix = i / S::kB, part = i % S::kB;
    b[matrix][part] = static_cast<const Part*>(b_data)[(matrix * S::kColumns + g) * kUnits + t + 4 * part];
  }
  const auto add_products = [&](int sign) {  // 0 of A, 1 of -A
#pragma unroll
    for (int i = 0; i < kSums; ++i) S::mma(d[i], a[i % kAs + kAs * sign], b[i / kAs]);
  };
  const Stopwatch watch;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 2 * S::kPairs; ++i) add_products(i % 2);
  }
  const Stamp time = watch.read();
  if (blockIdx.x == 0 && threadIdx.x == 0) *stamp = time;
  add_products(0);
  if (out == nullptr || blockIdx.x != 0 || threadIdx.x >= 32) return;
  constexpr int kElements = S::kRows * S::kColumns / 32;
#pragma unroll
  for (int i = 0; i < kSums * kElements; ++i) {
    const int sum = i / kElements, at = i % kElements;
    const int row = sum % kAs * S::kRows + g + 8 * (at / 2), column = sum / kAs * S::kColumns + 2 * t + at % 2;
    out[row * kBs * S::kColumns + column] = element<S>(d[sum], at);
  }
}

// One kind of mma.sync.
struct Kind {
  const char* name;
  const char* unit;
  Format format;
  int rows, columns, depth;  // of one instruction
  int instructions;          // of one round of a warp
  double tolerance;          // of its sums
  void (*kernel)(int, const void*, const void*, Stamp*, double*);
  const char* remark;

  double operations_per_round() const {  // of one block
    return 2.0 * rows * columns * depth * instructions * (kThreads / 32);
  }
};

template <typename S>
constexpr Kind kind(const char* name, double tolerance, const char* remark = "") {
  const char* unit = S::kFormat == Format::int8 ? "1/s" : "FLOP/s";
  return {name, unit, S::kFormat, S::kRows, S::kColumns, S::kDepth, kSums * 2 * S::kPairs, tolerance, run_mma<S>, remark};
}

const Kind kKinds[] = {
    kind<Bf16>("math.bf16.mma", 1e-5),
    kind<F16>("math.f16.mma", 1e-5),
    kind<F16Sums>("math.f16_sum16.mma", 5e-3, "sums in FP16: less accurate than an f16 op promises"),
    kind<Tf32>("math.tf32.mma", 1e-5),
    kind<Fp8>("math.fp8.mma", 1e-2, "e4m3"),
    kind<Int8>("math.int8.mma", 0, "integer operations, a multiply-add is two"),
    kind<Fp64>("math.fp64.mma", 1e-14, "m8n8k4"),
    kind<Fp64Wide>("math.fp64.mma_k16", 1e-14, "m16n8k16"),
};

// The operands of a kind, on the device.
struct Operands {
  Operands(Device& device, Stream& stream, const Kind& kind)
      : host_a(random_operand(kind.format, kAs * kind.rows, kind.depth, 1)),
        host_b(random_operand(kind.format, kBs * kind.columns, kind.depth, 2)),
        a(upload(device, stream, with_negative(kind.format, host_a))),
        b(upload(device, stream, host_b)) {}
  Operand host_a, host_b;
  Buffer a, b;
};

void run(Stream& stream, int blocks, const Kind& kind, const Operands& operands, int rounds, Stamp* stamp, double* out) {
  launch(stream, {.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(kThreads)}, kind.kernel, rounds, operands.a.data(),
         operands.b.data(), stamp, out);
}

std::string remark_for(const Kind& kind, const DeviceInfo& info) {
  const bool emulated = kind.format == Format::fp8 && (info.compute_major == 9 || info.compute_major == 10);
  return std::string(kind.remark) + (emulated ? "; this GPU's mma.sync has no FP8: converted, and multiplied in FP16" : "");
}

}  // namespace

void probe_tensor(Probing& probing) {
  GpuTimer timer(probing.device());
  const int blocks = probing.info().multiprocessors;
  double done = 0;
  for (const Kind& kind : kKinds) {
    const Operands operands(probing.device(), timer.stream(), kind);
    const auto work = [&](Stream& stream, int rounds, Stamp* stamp) {
      run(stream, blocks, kind, operands, rounds, stamp, nullptr);
    };
    add_roof(probing, timer,
             {kind.name, kind.unit, kind.operations_per_round() * blocks, work, remark_for(kind, probing.info())});
    probing.progress(++done / static_cast<double>(std::size(kKinds)), kind.name);
  }
}

std::vector<TileProduct> mma_products(Device& device) {
  const auto stream = device.make_stream();
  const PinnedBuffer stamp(device, sizeof(Stamp));
  std::vector<TileProduct> products;
  for (const Kind& kind : kKinds) {
    const Operands operands(device, *stream, kind);
    const int m = kAs * kind.rows, n = kBs * kind.columns;
    std::vector<double> d(static_cast<size_t>(m) * static_cast<size_t>(n));
    const auto bytes = static_cast<int64_t>(d.size() * sizeof(double));
    const Buffer out(device, bytes);
    stream->fill(out.data(), 0xff, bytes);  // NaN: what is not written shows
    *stamp.as<Stamp>() = {};
    run(*stream, 1, kind, operands, 1, stamp.as<Stamp>(), static_cast<double*>(out.data()));
    stream->copy_out(d.data(), out.data(), bytes);
    stream->synchronize();
    if (stamp.as<Stamp>()->cycles == 0) continue;  // no code for this GPU
    products.push_back({kind.name, m, n, kind.depth, operands.host_a.values, operands.host_b.values, d, kind.tolerance});
  }
  return products;
}

}  // namespace rafter::cuda
