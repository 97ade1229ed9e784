// Building and walking a ring; see chase.cuh.
#include "rafter/machine/cuda/chase.cuh"

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/launching.cuh"

namespace rafter::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 2048;

__global__ void link_ring(Ring ring) {
  const Permutation order(static_cast<uint64_t>(ring.count), ring.key);
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t j = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; j < ring.count; j += threads) {
    *reinterpret_cast<char**>(line_of(ring, order, j)) = line_of(ring, order, j + 1 == ring.count ? 0 : j + 1);
  }
}

// In order of place, so that a dense ring is read as a stream. The sum of the links is no address.
__global__ void touch_ring(Ring ring, char** sink) {
  const Permutation order(static_cast<uint64_t>(ring.count), ring.key);
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  uint64_t sum = 0;
  for (int64_t j = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; j < ring.count; j += threads) {
    const char* at = ring.slot == kLine ? ring.base + j * kLine : line_of(ring, order, j);
    sum ^= reinterpret_cast<uint64_t>(follow<Path::l2>(at));
  }
  if (sum == 0x123456789abcdefull) *sink = ring.base;
}

template <Path kPath>
__global__ void walk_ring(Ring ring, int64_t start, int warm_steps, int steps, int64_t page_bytes, Stamp* out) {
  char* at = line_of(ring, Permutation(static_cast<uint64_t>(ring.count), ring.key), start);
  if (page_bytes > 0) {
    uint64_t sum = 0;
    for (int64_t page = 0; page < ring.span(); page += page_bytes) {
      sum += reinterpret_cast<uint64_t>(follow<Path::l2>(ring.base + page));
    }
    if (sum == 0x123456789abcdefull) at = ring.base;
  }
  at = walk<kPath>(at, warm_steps);
  if (at == nullptr) return;  // never: the walk has ended before the clock is read
  const Stopwatch watch;
  at = walk<kPath>(at, steps);
  if (at == nullptr) return;
  *out = watch.read();
}

int rounded(int steps) { return (steps + kUnroll - 1) / kUnroll * kUnroll; }

}  // namespace

void link(Stream& stream, const Ring& ring) {
  launch(stream, {.grid = dim3(kBlocks), .block = dim3(kThreads)}, link_ring, ring);
}

void touch(Stream& stream, const Ring& ring) {
  launch(stream, {.grid = dim3(kBlocks), .block = dim3(kThreads)}, touch_ring, ring, reinterpret_cast<char**>(ring.base));
}

Chaser::Chaser(Device& device) : stamp_(device, sizeof(Stamp)) {}

Sample Chaser::step(Stream& stream, const Ring& ring, const Walk& walk) {
  const auto kernel = walk.path == Path::l1   ? walk_ring<Path::l1>
                      : walk.path == Path::l2 ? walk_ring<Path::l2>
                                              : walk_ring<Path::read_only>;
  start_ = (start_ + 7919 * int64_t{kUnroll}) % ring.count;
  const int steps = rounded(walk.steps);
  auto* stamp = stamp_.as<Stamp>();
  *stamp = {};
  prefer_l1(kernel);
  launch(stream, {.grid = dim3(1), .block = dim3(1)}, kernel, ring, start_, rounded(walk.warm_steps), steps, walk.page_bytes,
         stamp);
  stream.synchronize();
  return {stamp->seconds() / steps, stamp->hz()};
}

}  // namespace rafter::cuda
