// Latencies inside an SM and between neighbours: registers, shared memory, constants, another SM's shared memory, a bulk copy.
//
// The idea is the chase's (chase.cuh) with other loads: one thread, each step needs the one before. latency.register is a chain
// of fused multiply-adds, which is what an instruction that reads another's result waits. latency.dsmem walks a ring in the
// shared memory of the other block of a cluster. latency.tma_l2 is from issuing a bulk copy of 128 bytes that lie in L2 to the
// moment that its mbarrier lets the waiting thread on. The walks are 32 loads unrolled, each on the register that the one
// before wrote; their SASS on sm_90 has three to five more instructions in the loads' shadow. Expect on an H100 or H200, in
// cycles: FMA 4, shared 29 to 33, constant about 30, DSMEM about 180 to 210, bulk copy 370 to 700.
#include <functional>
#include <vector>

#include "rafter/machine/cuda/chase.cuh"
#include "rafter/machine/cuda/launching.cuh"
#include "rafter/machine/cuda/probe_list.h"

namespace rafter::cuda {

namespace {

constexpr int kWords = 512;       // of a ring of 32-bit words: 2 KiB, as much as the innermost constant cache holds
constexpr int kBuilders = 128;    // threads that link it
constexpr uint32_t kNever = ~0u;  // no address and no offset

__global__ void chain_of_fma(float a, float b, int steps, Stamp* out) {
  float x = a;
  const Stopwatch watch;
#pragma unroll 1
  for (int i = 0; i < steps; i += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(a), "f"(b));
  }
  if (x == 123.0f) return;  // never
  *out = watch.read();
}

__global__ void walk_shared(int steps, Stamp* out) {
  __shared__ uint32_t ring[kWords];
  const Permutation order(kWords, 3);
  for (unsigned j = threadIdx.x; j < kWords; j += blockDim.x) {
    ring[order(j)] = shared_address(ring + order((j + 1) % kWords));
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t at = shared_address(ring);
  const Stopwatch watch;
#pragma unroll 1
  for (int i = 0; i < steps; i += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
  }
  if (at == kNever) return;
  *out = watch.read();
}

__constant__ uint32_t constant_ring[kWords];  // byte offsets

__global__ void walk_constant(int steps, Stamp* out) {
  uint32_t at = threadIdx.x;  // 0, unknown to the compiler
  const auto* base = reinterpret_cast<const char*>(constant_ring);
  for (int i = 0; i < kWords; ++i) at = *reinterpret_cast<const uint32_t*>(base + at);
  if (at == kNever) return;
  const Stopwatch watch;
#pragma unroll 1
  for (int i = 0; i < steps; i += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) at = *reinterpret_cast<const uint32_t*>(base + at);
  }
  if (at == kNever) return;
  *out = watch.read();
}

// Block 0 links a ring in the shared memory of block 1, by addresses as it sees them, and walks it. The addresses are generic
// ones of 64 bits: a load by a 32-bit shared::cluster address becomes the same LD.E behind two moves.
__global__ void walk_neighbour(int steps, Stamp* out) {
#if RAFTER_HAS_CLUSTERS
  __shared__ uint64_t ring[kWords];
  sync_cluster();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    const Permutation order(kWords, 3);
    const auto remote = [&](uint64_t word) {
      uint64_t* there;
      asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(ring + word), "r"(1));
      return there;
    };
    for (int j = 0; j < kWords; ++j) *remote(order(j)) = reinterpret_cast<uint64_t>(remote(order((j + 1) % kWords)));
    auto at = reinterpret_cast<uint64_t>(remote(0));
    const Stopwatch watch;
#pragma unroll 1
    for (int i = 0; i < steps; i += kUnroll) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) asm volatile("ld.u64 %0, [%0];" : "+l"(at));
    }
    if (at != kNever) *out = watch.read();
  }
  sync_cluster();  // block 1's memory lasts until here
#endif
}

constexpr int kBox = 128;     // bytes
constexpr int kBoxes = 8192;  // a ring of 1 MiB, in L2

#if RAFTER_HAS_CLUSTERS
// Bounded: a copy that fails must not hang the GPU.
__device__ inline bool wait_for_phase(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  for (int tries = 0; done == 0 && tries < 100000; ++tries) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
  return done != 0;
}
#endif

__global__ void copy_boxes(const char* from, int steps, Stamp* out) {
#if RAFTER_HAS_CLUSTERS
  __shared__ alignas(128) char box[kBox];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t to = shared_address(box), bar = shared_address(&barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
  const Stopwatch watch;
  for (int i = 0; i < steps; ++i) {
    const char* source = from + static_cast<unsigned>(i) * 4099u % kBoxes * kBox;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(kBox) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(source), "r"(kBox), "r"(bar)
                 : "memory");
    if (!wait_for_phase(bar, static_cast<uint32_t>(i) & 1)) return;
  }
  *out = watch.read();
#endif
}

std::vector<uint32_t> constant_links() {
  const Permutation order(kWords, 3);
  std::vector<uint32_t> links(kWords);
  for (uint64_t j = 0; j < kWords; ++j) links[order(j)] = static_cast<uint32_t>(4 * order((j + 1) % kWords));
  return links;
}

// Launches, waits, and gives the seconds of a step.
class Timed {
 public:
  explicit Timed(Probing& probing) : probing_(probing), stream_(probing.device().make_stream()), stamp_(probing.device(), 64) {}
  Stream& stream() { return *stream_; }

  void add(const char* name, int steps, const char* remark, const std::function<void(int steps, Stamp* out)>& start) {
    auto* stamp = stamp_.as<Stamp>();
    const auto take = [&] {
      *stamp = {};
      start(steps, stamp);
      stream_->synchronize();
      return Sample{stamp->seconds() / steps, stamp->hz()};
    };
    take();  // loads the code
    const Estimate value = measure(take, probing_.rule(0.2), probing_.info().clock_hz);
    if (value.median > 0) probing_.add({name, {}, "", "s", value, remark});
  }

 private:
  Probing& probing_;
  std::unique_ptr<Stream> stream_;
  PinnedBuffer stamp_;
};

}  // namespace

void probe_onchip(Probing& probing) {
  Timed timed(probing);
  const LaunchShape one{.grid = dim3(1), .block = dim3(1)};
  timed.add("latency.register", 1 << 18, "a fused multiply-add that needs the result of the one before",
            [&](int n, Stamp* out) { launch(timed.stream(), one, chain_of_fma, 0.5f, 0.25f, n, out); });
  timed.add("latency.shared", 1 << 15, "", [&](int n, Stamp* out) {
    launch(timed.stream(), {.grid = dim3(1), .block = dim3(kBuilders)}, walk_shared, n, out);
  });
  const std::vector<uint32_t> links = constant_links();
  check(cudaMemcpyToSymbol(constant_ring, links.data(), links.size() * 4), "writing constant memory");
  timed.add("latency.constant", 1 << 15, "an indexed load from 2 KiB of constants",
            [&](int n, Stamp* out) { launch(timed.stream(), one, walk_constant, n, out); });

  if (probing.info().compute_major < 9) return;
  if (resident_clusters(walk_neighbour, 2, 32, 0) > 0) {
    timed.add("latency.dsmem", 1 << 13, "the shared memory of the other block of a cluster of two",
              [&](int n, Stamp* out) { launch_clusters(timed.stream(), 2, 2, 32, 0, walk_neighbour, n, out); });
  }
  const Buffer boxes(probing.device(), int64_t{kBox} * kBoxes);
  const Ring ring{static_cast<char*>(boxes.data()), kBoxes};
  link(timed.stream(), ring);
  timed.add("latency.tma_l2", 1 << 12, "a bulk copy of 128 B from L2, from its issue until its mbarrier lets go",
            [&](int n, Stamp* out) {
              touch(timed.stream(), ring);
              launch(timed.stream(), one, copy_boxes, ring.base, n, out);
            });
}

}  // namespace rafter::cuda
