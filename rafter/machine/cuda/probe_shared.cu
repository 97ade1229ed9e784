// Bank conflicts: what a load of shared memory costs a warp when lanes ask one bank for several words.
//
// Shared memory has 32 banks, each a word of 4 bytes wide and good for one word a cycle. Lane i reads word i / n of row i % n,
// so n lanes meet in one bank on different rows, for every n from 1 to 32. shared.conflict is the time that the SM's shared
// memory is busy with one load of a warp: 32 warps on each SM keep it busy, and it is seconds of all over loads of an SM. The
// loop is 16 loads unrolled; its SASS on sm_90 is 16 LDS and 16 more instructions.
// Expect n cycles on every GPU since Kepler: 1 without a conflict, 32 at the worst.
#include <algorithm>

#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int kThreads = 1024, kRows = 16;
constexpr uint32_t kRowBytes = 128, kStartRows = 16;
constexpr uint32_t kBytes = (kStartRows + kRows + 32) * kRowBytes;  // the last row that a lane reads, and one more

__global__ void read_with_conflicts(int ways, int rounds, uint32_t* out) {
  __shared__ uint32_t data[kBytes / 4];
  for (unsigned i = threadIdx.x; i < kBytes / 4; i += blockDim.x) data[i] = static_cast<uint32_t>(scramble(i));
  __syncthreads();
  const uint32_t lane = threadIdx.x % 32, n = static_cast<uint32_t>(ways);
  const char* bytes = reinterpret_cast<const char*>(data) + lane % n * kRowBytes + lane / n * 4;
  uint32_t start = threadIdx.x / 32, sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    const char* from = bytes + start % kStartRows * kRowBytes;
    uint32_t v[kRows];
#pragma unroll
    for (uint32_t u = 0; u < kRows; ++u) v[u] = *reinterpret_cast<const uint32_t*>(from + u * kRowBytes);
#pragma unroll
    for (uint32_t u = 0; u < kRows; ++u) sum ^= v[u];
    ++start;
  }
  if (sum == 0x12345678u) *out = sum;
}

}  // namespace

void probe_shared(Probing& probing) {
  GpuTimer timer(probing.device());
  const Buffer sink(probing.device(), 256);
  const int sms = probing.info().multiprocessors;
  for (int ways = 1; ways <= 32; ways += probing.quick() ? ways : 1) {
    const int rounds = std::max(64, 1024 / ways);  // about half a million cycles
    const double loads = static_cast<double>(rounds) * kRows * (kThreads / 32);
    const auto work = [&](Stream& s) {
      launch(s, {.grid = dim3(sms), .block = dim3(kThreads)}, read_with_conflicts, ways, rounds,
             static_cast<uint32_t*>(sink.data()));
    };
    const auto take = [&] {
      const Sample whole = timer.time(work);
      return Sample{whole.value / loads, whole.clock_hz};
    };
    timer.load(work);
    StopRule rule = probing.rule(0.1);
    rule.most_seconds = probing.quick() ? 0.05 : 0.12;
    probing.add({"shared.conflict",
                 {{"ways", static_cast<double>(ways)}},
                 "",
                 "s",
                 measure(take, rule, timer.default_clock_hz()),
                 "a warp's load of 4 bytes a lane"});
    probing.progress(ways / 32.0, "bank conflicts");
  }
}

}  // namespace rafter::cuda
