// A latency chase: each load gives the address of the next, so that loads can only follow one another.
//
// The addresses of a Ring form one random cycle over its lines (Saavedra and Smith's method, with the random order that defeats
// prefetching and open DRAM pages). It is built by all threads at once: line pi(j) points to pi(j + 1 mod n), pi a Permutation.
// One thread walks it. The walk is 32 loads unrolled in a loop that is not; its SASS on sm_90 is 32 LDG.E.64, each on the
// register that the one before wrote, and three instructions of the loop that run in their shadow.
#pragma once

#include <cstdint>

#include "rafter/device/buffer.h"
#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/stopwatch.cuh"
#include "rafter/machine/permutation.h"

namespace rafter::cuda {

constexpr int64_t kLine = 128;  // bytes; what L1 and L2 keep a tag for
constexpr int kUnroll = 32;     // loads of a walk between two tests of its end

// `count` lines, one at a random place in each stretch of `slot` bytes from `base` on (128-aligned, as slot is).
struct Ring {
  char* base = nullptr;
  int64_t count = 0;
  int64_t slot = kLine;
  uint64_t key = 1;
  RAFTER_HOST_DEVICE int64_t span() const { return count * slot; }
};

#if defined(__CUDACC__)
__device__ inline char* line_of(const Ring& ring, const Permutation& order, int64_t index) {
  const auto place = static_cast<int64_t>(order(static_cast<uint64_t>(index)));
  const auto lines = static_cast<uint64_t>(ring.slot / kLine);
  const uint64_t inside = lines == 1 ? 0 : Permutation(lines, ring.key + static_cast<uint64_t>(place))(0);
  return ring.base + place * ring.slot + static_cast<int64_t>(inside) * kLine;
}
#endif

enum class Path : uint8_t { l1, l2, read_only };  // ld.global, ld.global.cg (L1 bypassed), ld.global.nc

#if defined(__CUDACC__)
template <Path kPath>
__device__ inline char* follow(const char* at) {
  char* next;
  if constexpr (kPath == Path::l1) asm volatile("ld.global.u64 %0, [%1];" : "=l"(next) : "l"(at));
  if constexpr (kPath == Path::l2) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(at));
  if constexpr (kPath == Path::read_only) asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(next) : "l"(at));
  return next;
}

// `steps`, rounded up to whole rounds of kUnroll.
template <Path kPath>
__device__ inline char* walk(char* at, int steps) {
#pragma unroll 1
  for (int i = 0; i < steps; i += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) at = follow<kPath>(at);
  }
  return at;
}
#endif

// Links the lines of a ring. Every other byte of them keeps what it holds.
void link(Stream& stream, const Ring& ring);
// Reads each line of it once, from all SMs and past L1: L2 then holds what fits, and TLBs have seen the pages.
void touch(Stream& stream, const Ring& ring);

struct Walk {
  Path path = Path::l1;
  int warm_steps = 0;      // untimed, just before
  int steps = 8192;        // timed; both rounded up to multiples of kUnroll
  int64_t page_bytes = 0;  // where positive: reads the first word of each such stretch of the ring before
};

// Walks rings and says how long a step took.
class Chaser {
 public:
  explicit Chaser(Device& device);
  // Seconds of one step, from a place of the ring that differs from call to call. Waits for the stream.
  Sample step(Stream& stream, const Ring& ring, const Walk& walk);

 private:
  PinnedBuffer stamp_;
  int64_t start_ = 0;
};

}  // namespace rafter::cuda
