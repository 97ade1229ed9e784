// Arithmetic outside the tensor cores: floating point, integers, special functions, conversions.
//
// A block of 1024 threads on every SM (eight warps a scheduler) runs eight independent chains a thread, all in registers.
// The chain is Minsky's circle, x += k y; y -= k x (HAKMEM, item 149): each operand of each instruction is a value just
// made, random and different in every lane, and it stays bounded for ever, in bf16 too (seen over 10^5 steps). So no result
// is known before, and the operands toggle as real ones do. A round is 512 such instructions and three of loop.
//
// Expect per SM and cycle on Hopper: 128 FFMA, 64 DFMA, 128 HFMA2 (256 multiply-adds), 64 each of IMAD, IADD3, LOP3 and
// DP4A, 16 special functions. What it counts: a multiply-add is two operations, as is an IADD3; LOP3, a special function and a
// conversion are one; DP4A is eight.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/roof.h"
#include "rafter/machine/cuda/stopwatch.cuh"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int kThreads = 1024, kChains = 8, kSteps = 32;

// Random starting values. Numbers lie on [-2, 2), multipliers on +-[1/4, 3/2): the circle is stable below 2.
__device__ float number(uint64_t random) { return static_cast<float>(static_cast<int32_t>(random)) * 0x1p-30f; }
__device__ float multiplier(uint64_t random) {
  const float size = 0.25f + 1.25f * static_cast<float>(static_cast<uint32_t>(random)) * 0x1p-32f;
  return random >> 63 != 0 ? size : -size;
}

// What one chain computes. draw() makes a value from random bits, draw_factor() a multiplier; step() is the chain's one
// step, with factors k and m; bits() makes the result observable; kOperations are those of one step in one lane.
template <typename T>
struct Circle {
  static constexpr int kOperations = 4;
  using Value = T;
  __device__ static T draw(uint64_t random) { return static_cast<T>(number(random)); }
  __device__ static T draw_factor(uint64_t random) { return static_cast<T>(multiplier(random)); }
  __device__ static T opposite(T k) { return -k; }
  __device__ static void step(T& x, T& y, T k, T minus_k) {
    x = fma(k, y, x);
    y = fma(minus_k, x, y);
  }
  __device__ static uint32_t bits(T x) { return __float_as_uint(static_cast<float>(x)); }
};

__device__ __half2 pair_of(float low, float high, __half2) { return __floats2half2_rn(low, high); }
__device__ __nv_bfloat162 pair_of(float low, float high, __nv_bfloat162) { return __floats2bfloat162_rn(low, high); }

// The same in the two halves of a register.
template <typename T>
struct PairCircle {
  static constexpr int kOperations = 8;
  using Value = T;
  __device__ static T draw(uint64_t random) { return pair_of(number(random), number(random >> 32), T{}); }
  __device__ static T draw_factor(uint64_t random) { return pair_of(multiplier(random), multiplier(scramble(random)), T{}); }
  __device__ static T opposite(T k) { return __hneg2(k); }
  __device__ static void step(T& x, T& y, T k, T minus_k) {
    x = __hfma2(k, y, x);
    y = __hfma2(minus_k, x, y);
  }
  __device__ static uint32_t bits(const T& x) { return *reinterpret_cast<const uint32_t*>(&x); }
};

// Integers: two instructions of one kind a step. They are spelled in PTX, so that the compiler finds no algebra in them.
template <int kOperationsEach>
struct Words {
  static constexpr int kOperations = 2 * kOperationsEach;
  using Value = uint32_t;
  __device__ static uint32_t draw(uint64_t random) { return static_cast<uint32_t>(random); }
  __device__ static uint32_t draw_factor(uint64_t random) { return static_cast<uint32_t>(random) | 1u; }
  __device__ static uint32_t opposite(uint32_t k) { return ~k | 1u; }
  __device__ static uint32_t bits(uint32_t x) { return x; }
};

struct MultiplyAdd : Words<2> {
  __device__ static void step(uint32_t& x, uint32_t& y, uint32_t k, uint32_t m) {
    asm("mad.lo.u32 %0, %1, %2, %0;" : "+r"(x) : "r"(y), "r"(k));
    asm("mad.lo.u32 %0, %1, %2, %0;" : "+r"(y) : "r"(x), "r"(m));
  }
};
struct AddThree : Words<2> {
  __device__ static void add(uint32_t& x, uint32_t y, uint32_t k) {
    asm("{ .reg .u32 t; add.u32 t, %1, %2; add.u32 %0, %0, t; }" : "+r"(x) : "r"(y), "r"(k));
  }
  __device__ static void step(uint32_t& x, uint32_t& y, uint32_t k, uint32_t m) {
    add(x, y, k);
    add(y, x, m);
  }
};
struct LogicOfThree : Words<1> {
  __device__ static void step(uint32_t& x, uint32_t& y, uint32_t k, uint32_t m) {  // a ^ (b & c)
    asm("lop3.b32 %0, %0, %1, %2, 0x78;" : "+r"(x) : "r"(y), "r"(k));
    asm("lop3.b32 %0, %0, %1, %2, 0x78;" : "+r"(y) : "r"(x), "r"(m));
  }
};
struct DotOfFour : Words<8> {
  __device__ static void step(uint32_t& x, uint32_t& y, uint32_t k, uint32_t m) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(x) : "r"(y), "r"(k));
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(y) : "r"(x), "r"(m));
  }
};

// Special functions of a circle's values, xored together: one FFMA and one LOP3 go with each, which leaves the pipe, an
// eighth as wide, the limit.
struct Wave {
  float value;
  uint32_t sum;
};
template <float (*kFunction)(float)>
struct Special {
  static constexpr int kOperations = 2;
  using Value = Wave;
  __device__ static Wave draw(uint64_t random) { return {number(random), 0}; }
  __device__ static Wave draw_factor(uint64_t random) { return {multiplier(random), 0}; }
  __device__ static Wave opposite(const Wave& k) { return {-k.value, 0}; }
  __device__ static void advance(Wave& x, const Wave& y, const Wave& k) {
    x.value = fmaf(k.value, y.value, x.value);
    x.sum ^= __float_as_uint(kFunction(x.value));
  }
  __device__ static void step(Wave& x, Wave& y, const Wave& k, const Wave& minus_k) {
    advance(x, y, k);
    advance(y, x, minus_k);
  }
  __device__ static uint32_t bits(const Wave& x) { return __float_as_uint(x.value) ^ x.sum; }
};
__device__ float exponential(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fabsf(x)));
  return y;
}

// Two floats to a pair of bf16 that is the next step's float: positive, so that the low half always rounds away and no
// value ever grows.
struct ToBf16 {
  static constexpr int kOperations = 4;
  using Value = float;
  __device__ static float draw(uint64_t random) { return 1.0f + fabsf(number(random)); }
  __device__ static float draw_factor(uint64_t random) { return draw(random); }
  __device__ static float opposite(float k) { return k; }
  __device__ static float pack(float low, float high) {
    float pair;
    asm("{ .reg .b32 t; cvt.rn.bf16x2.f32 t, %1, %2; mov.b32 %0, t; }" : "=f"(pair) : "f"(high), "f"(low));
    return pair;
  }
  __device__ static void step(float& x, float& y, float, float) {
    x = pack(x, y);
    y = pack(y, x);
  }
  __device__ static uint32_t bits(float x) { return __float_as_uint(x); }
};

template <typename Chain>
__global__ void __launch_bounds__(kThreads) run_chains(int rounds, uint64_t seed, Stamp* stamp, uint32_t* out) {
  using Value = typename Chain::Value;
  uint64_t random = scramble(seed + blockIdx.x * uint64_t{kThreads} + threadIdx.x);
  const auto next = [&random] { return random = scramble(random); };
  Value x[kChains], y[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    x[c] = Chain::draw(next());
    y[c] = Chain::draw(next());
  }
  const Value k = Chain::draw_factor(next()), m = Chain::opposite(k);
  const Stopwatch watch;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) Chain::step(x[c], y[c], k, m);
    }
  }
  const Stamp time = watch.read();
  uint32_t all = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) all ^= Chain::bits(x[c]) ^ 3 * Chain::bits(y[c]);
  if (all == 0x9e3779b9u) *out = all;  // hardly ever; keeps the chains alive
  if (blockIdx.x == 0 && threadIdx.x == 0) *stamp = time;
}

// One unit and what its operations are called.
struct Unit {
  const char* name;
  const char* unit;
  int operations;  // of one round in one lane
  void (*kernel)(int, uint64_t, Stamp*, uint32_t*);
  const char* remark;
};

template <typename Chain>
constexpr Unit unit(const char* name, const char* unit, const char* remark = "") {
  return {name, unit, Chain::kOperations * kChains * kSteps, run_chains<Chain>, remark};
}

const Unit kUnits[] = {
    unit<Circle<float>>("math.fp32.ffma", "FLOP/s"),
    unit<Circle<double>>("math.fp64.dfma", "FLOP/s"),
    unit<PairCircle<__half2>>("math.f16.hfma2", "FLOP/s"),
    unit<PairCircle<__nv_bfloat162>>("math.bf16.hfma2", "FLOP/s"),
    unit<MultiplyAdd>("math.int32.imad", "1/s", "a multiply-add is two operations"),
    unit<AddThree>("math.int32.iadd3", "1/s", "a sum of three is two operations"),
    unit<LogicOfThree>("math.int32.lop3", "1/s", "a function of three words is one operation"),
    unit<DotOfFour>("math.int8.dp4a", "1/s", "integer operations, a multiply-add is two: eight an instruction"),
    unit<Special<exponential>>("math.sfu.ex2", "1/s"),
    unit<Special<inverse_root>>("math.sfu.rsqrt", "1/s"),
    unit<ToBf16>("math.convert.f32_bf16", "1/s", "values converted, two an instruction"),
};

}  // namespace

void probe_math(Probing& probing) {
  GpuTimer timer(probing.device());
  const Buffer out(probing.device(), sizeof(uint32_t));
  const int blocks = probing.info().multiprocessors;
  double done = 0;
  for (const Unit& unit : kUnits) {
    const auto run = [&](Stream& stream, int rounds, Stamp* stamp) {
      launch(stream, {.grid = dim3(blocks), .block = dim3(kThreads)}, unit.kernel, rounds, uint64_t{0x5eed}, stamp,
             static_cast<uint32_t*>(out.data()));
    };
    add_roof(probing, timer, {unit.name, unit.unit, double(unit.operations) * kThreads * blocks, run, unit.remark});
    probing.progress(++done / std::size(kUnits), unit.name);
  }
}

}  // namespace rafter::cuda
