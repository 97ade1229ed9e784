// The price of register spills: the same arithmetic with its values in registers and in local memory.
//
// Each thread carries 96 floats through rounds of one multiply-add each. Compiled for 128 registers they all stay in registers;
// compiled for 80, 64 and 40 the rest lives in local memory and is loaded and stored as it is needed, through L1. All run one
// block of 256 threads on each SM, so the price is the spilling alone and not what another occupancy would give. spill.fma is
// the seconds of an SM for one multiply-add of a warp; the remark says what the compiler did, as the driver knows it.
// Expect a quarter of a cycle (four warps a cycle) without spills, and several times that with.
#include <fmt/format.h>

#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int kValues = 96, kThreads = 256, kRounds = 2000;

__device__ inline void carry(const float* in, float scale, int rounds, float* out) {
  float x[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) x[i] = in[i * kThreads + static_cast<int>(threadIdx.x)];
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    // Volatile: in this order, all values once around before any comes again.
#pragma unroll
    for (int i = 0; i < kValues; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[i]) : "f"(scale));
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kValues; ++i) sum += x[i];
  if (sum == 12345.0f) *out = sum;
}

template <int kRegisters>
__global__ void __maxnreg__(kRegisters) carry_in(const float* in, float scale, int rounds, float* out) {
  carry(in, scale, rounds, out);
}

struct Limit {
  int registers;
  void (*kernel)(const float*, float, int, float*);
};

constexpr Limit kLimits[] = {{128, carry_in<128>}, {80, carry_in<80>}, {64, carry_in<64>}, {40, carry_in<40>}};

}  // namespace

void probe_spill(Probing& probing) {
  GpuTimer timer(probing.device());
  const Buffer values(probing.device(), int64_t{kValues} * kThreads * 4), sink(probing.device(), 256);
  fill_random(timer.stream(), values);
  const int sms = probing.info().multiprocessors;
  const double fmas = static_cast<double>(kRounds) * kValues * (kThreads / 32);
  double in_registers = 0;
  for (const Limit& limit : kLimits) {
    const auto work = [&](Stream& s) {
      launch(s, {.grid = dim3(sms), .block = dim3(kThreads)}, limit.kernel, static_cast<const float*>(values.data()), 0.5f,
             kRounds, static_cast<float*>(sink.data()));
    };
    const auto take = [&] {
      const Sample whole = timer.time(work);
      return Sample{whole.value / fmas, whole.clock_hz};
    };
    cudaFuncAttributes compiled{};
    check(cudaFuncGetAttributes(&compiled, reinterpret_cast<const void*>(limit.kernel)), "asking about a kernel");
    timer.load(work);
    const Estimate value = measure(take, probing.rule(0.2), timer.default_clock_hz());
    if (in_registers == 0) in_registers = value.median;
    const bool spilled = compiled.localSizeBytes > 0;
    probing.add(
        {"spill.fma",
         {{"registers", static_cast<double>(limit.registers)}},
         spilled ? "spilled" : "registers",
         "s",
         value,
         fmt::format("{} floats a thread in {} registers, {} B of local memory; {:.2f} times the time of registers alone",
                     kValues, compiled.numRegs, compiled.localSizeBytes, value.median / in_registers)});
  }
}

}  // namespace rafter::cuda
