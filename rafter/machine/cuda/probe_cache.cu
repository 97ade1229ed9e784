// Bandwidth of the memories on the chip: shared memory, L1, L2, a neighbour's shared memory, constants, the read-only path.
//
// shared.read, l1.read, readonly.read: one block of 1024 threads on each SM re-reads its own small buffer (sweeps.cuh), 16
// loads in flight a thread; a roof of 128 B a cycle and SM. constant.read: a warp's lanes all ask for one word, 4 bytes a lane
// count. dsmem.read: each block of a cluster of two reads the other's shared memory. l2.read and l2.write by the size of the
// set: two blocks of 512 threads on each SM sweep slices of their own over and over inside one launch, past L1, so neither
// launches nor the first touch weigh; sizes pass one partition of L2 and the whole, and capacity.l2_near and capacity.l2 (state
// bandwidth) are where the curve falls. How evenly a small set falls on L2's slices is a matter of its address, by tens of
// percent for writes, so each sample takes a set elsewhere and the figure is the median over places. Expect on an H100 or H200:
// L1 126 B a cycle and SM, L2 5.5 to 7 TB/s, near 9.7 TB/s on an H200 up to about 28 MB.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rafter/base/units.h"
#include "rafter/machine/capacities.h"
#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/launching.cuh"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/sweeps.cuh"

namespace rafter::cuda {

namespace {

constexpr int64_t kMi = int64_t{1} << 20;
constexpr int kThreads = 1024;
constexpr uint32_t kBase = 16384;         // bytes a row starts in
constexpr double kSweepBytes = 64 << 20;  // an SM reads in one launch: a quarter of a millisecond at 128 B a cycle

template <typename T>
int rounds_for_sweep() {
  return static_cast<int>(kSweepBytes / (kThreads * kRows * sizeof(T)));
}
template <typename T>
double swept(int blocks) {
  return static_cast<double>(blocks) * rounds_for_sweep<T>() * kThreads * kRows * sizeof(T);
}

template <typename T>
__global__ void read_shared(int rounds, T* out) {
  __shared__ T data[swept_bytes<T>(kBase) / sizeof(T)];
  for (unsigned i = threadIdx.x; i < sizeof(data) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(scramble(i));
  }
  __syncthreads();
  const char* bytes = reinterpret_cast<const char*>(data);
  const T sum =
      sweep<T>(rounds, kBase, [&](uint32_t at, uint32_t row) { return *reinterpret_cast<const T*>(bytes + at + row); });
  if (unlikely(sum)) *out = sum;
}

template <bool kReadOnly>
__global__ void read_l1(const char* in, int rounds, uint4* out) {
  const char* own = in + int64_t{blockIdx.x} * swept_bytes<uint4>(kBase);
  const uint4 sum = sweep<uint4>(rounds, kBase, [&](uint32_t at, uint32_t row) {
    uint4 v;
    if constexpr (kReadOnly) {
      asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(own + at + row));
    } else {
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(own + at + row));
    }
    return v;
  });
  if (unlikely(sum)) *out = sum;
}

constexpr int kConstantWords = 512;  // what the innermost constant cache holds
__constant__ uint32_t constant_words[kConstantWords];

__global__ void read_constant(int rounds, uint32_t* out) {
  unsigned word = threadIdx.x / 32;
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    const uint32_t* from = constant_words + word % (kConstantWords - kRows);
#pragma unroll
    for (int u = 0; u < kRows; ++u) sum += from[u];
    ++word;
  }
  if (unlikely(sum)) *out = sum;
}

// Shared memory beyond half of an SM's, so that no SM takes two blocks.
__global__ void read_neighbour(int rounds, uint4* out) {
#if RAFTER_HAS_CLUSTERS
  extern __shared__ uint4 data[];
  for (unsigned i = threadIdx.x; i < swept_bytes<uint4>(kBase) / 16; i += blockDim.x) {
    data[i] = make_uint4(static_cast<uint32_t>(scramble(i)), i, ~i, blockIdx.x);
  }
  sync_cluster();
  const uint32_t remote = shared_address_in(shared_address(data), cluster_rank() ^ 1);
  const uint4 sum = sweep<uint4>(rounds, kBase, [&](uint32_t at, uint32_t row) {
    uint4 v;
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(remote + at + row));
    return v;
  });
  if (unlikely(sum)) *out = sum;
  sync_cluster();  // the other block reads this one's memory until here
#endif
}

constexpr int64_t kLineBytes = 128, kPlace = 4096;
constexpr int kSliceThreads = 512, kSlicesPerSm = 2, kFlight = 8;

__device__ inline uint4 load_past_l1(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}
__device__ inline void store_past_l1(uint4* to, const uint4& v) {
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// Where in `room` bytes the sample after `*count` others takes its set of `bytes`.
int64_t place_of(int64_t room, int64_t bytes, uint32_t* count) {
  const int64_t places = (room - bytes) / kPlace + 1;
  return static_cast<int64_t>(scramble((*count)++) % static_cast<uint64_t>(places)) * kPlace;
}

// A block goes round its slice of `count` vectors, be they more or fewer than its threads.
template <bool kWrite>
__global__ void __launch_bounds__(kSliceThreads, kSlicesPerSm) sweep_slices(uint4* data, uint32_t count, int rounds) {
  uint4* slice = data + int64_t{blockIdx.x} * count;
  const uint32_t stride = kSliceThreads % count;
  uint32_t at = threadIdx.x % count;
  const auto next = [&] {
    const uint32_t here = at;
    at += stride;
    at = at >= count ? at - count : at;
    return here;
  };
  uint4 sum = make_uint4(threadIdx.x, blockIdx.x, 0x5bd1e995u, ~threadIdx.x);
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint4 v[kFlight];
#pragma unroll
    for (int u = 0; u < kFlight; ++u) {
      if constexpr (kWrite)
        store_past_l1(slice + next(), sum);
      else
        v[u] = load_past_l1(slice + next());
    }
    if constexpr (kWrite)
      ++sum.z;
    else {
#pragma unroll
      for (int u = 0; u < kFlight; ++u) sum = mix(sum, v[u]);
    }
  }
  if constexpr (!kWrite) {
    if (unlikely(sum)) *slice = sum;
  }
}

struct Bench {
  Probing& probing;
  GpuTimer timer;
  Buffer memory;  // four times L2, at least 64 MiB
  int blocks() const { return probing.info().multiprocessors; }
  template <typename T>
  T* at() const {
    return static_cast<T*>(memory.data());
  }
  void add(const char* name, double lane_bytes, double bytes, const char* remark, const GpuTimer::Work& work) {
    probing.add({name, {{"lane_bytes", lane_bytes}}, "warm", "B/s", timer.rate(bytes, work, probing.rule(0.3)), remark});
  }
};

void add_shared(Bench& b) {
  const LaunchShape shape{.grid = dim3(b.blocks()), .block = dim3(kThreads)};
  b.add("shared.read", 16, swept<uint4>(b.blocks()), "",
        [&](Stream& s) { launch(s, shape, read_shared<uint4>, rounds_for_sweep<uint4>(), b.at<uint4>()); });
  b.add("shared.read", 4, swept<uint32_t>(b.blocks()), "",
        [&](Stream& s) { launch(s, shape, read_shared<uint32_t>, rounds_for_sweep<uint32_t>(), b.at<uint32_t>()); });
}

void add_l1(Bench& b) {
  const int64_t room = b.memory.bytes() / swept_bytes<uint4>(kBase);
  const int blocks = static_cast<int>(std::min<int64_t>(b.blocks(), room));
  const LaunchShape shape{.grid = dim3(blocks), .block = dim3(kThreads)};
  prefer_l1(read_l1<false>);
  prefer_l1(read_l1<true>);
  b.add("l1.read", 16, swept<uint4>(blocks), "each SM its own 24 KiB",
        [&](Stream& s) { launch(s, shape, read_l1<false>, b.at<char>(), rounds_for_sweep<uint4>(), b.at<uint4>()); });
  b.add("readonly.read", 16, swept<uint4>(blocks), "as l1.read, by ld.global.nc",
        [&](Stream& s) { launch(s, shape, read_l1<true>, b.at<char>(), rounds_for_sweep<uint4>(), b.at<uint4>()); });
}

void add_constant(Bench& b) {
  std::vector<uint32_t> words(kConstantWords);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(scramble(i));
  check(cudaMemcpyToSymbol(constant_words, words.data(), words.size() * 4), "writing constant memory");
  const int rounds = rounds_for_sweep<uint32_t>() / 4;
  const double bytes = swept<uint32_t>(b.blocks()) / rounds_for_sweep<uint32_t>() * rounds;
  b.add("constant.read", 4, bytes, "one word to all lanes of a warp, counted as 4 B a lane", [&](Stream& s) {
    launch(s, {.grid = dim3(b.blocks()), .block = dim3(kThreads)}, read_constant, rounds, b.at<uint32_t>());
  });
}

void add_dsmem(Bench& b) {
  if (b.probing.info().compute_major < 9) return;
  const auto limit = static_cast<size_t>(b.probing.info().shared_bytes_per_block);
  const size_t shared = std::max<size_t>(limit / 2 + 1024, swept_bytes<uint4>(kBase));
  if (shared > limit) return;
  allow_shared(read_neighbour, shared);
  const int blocks = 2 * std::min(resident_clusters(read_neighbour, 2, kThreads, shared), b.blocks() / 2);
  if (blocks == 0) return;
  const int rounds = rounds_for_sweep<uint4>() / 4;
  const double bytes = swept<uint4>(blocks) / rounds_for_sweep<uint4>() * rounds;
  b.add("dsmem.read", 16, bytes, "clusters of two blocks, each SM reads the other's",
        [&](Stream& s) { launch_clusters(s, blocks, 2, kThreads, shared, read_neighbour, rounds, b.at<uint4>()); });
}

template <bool kWrite>
void add_l2_curve(Bench& b, const char* name) {
  const int blocks = b.blocks() * kSlicesPerSm;
  StopRule rule = b.probing.rule(0.1);
  rule.most_seconds = b.probing.quick() ? 0.04 : 0.15;
  const double factor = b.probing.quick() ? 1.5 : 1.12;
  const double traffic = b.probing.quick() ? 1e9 : 3e9;  // of a launch: from 0.1 ms on
  uint32_t taken = 0;
  for (double size = kMi; size <= static_cast<double>(b.memory.bytes()) / 2; size *= factor) {
    const auto lines = static_cast<uint32_t>(size / kLineBytes / blocks);
    if (lines == 0) continue;
    const uint32_t count = lines * (kLineBytes / 16);
    const double bytes = 16.0 * count * blocks, a_round = 16.0 * kSliceThreads * kFlight * blocks;
    const int once = static_cast<int>(bytes / a_round) + 1,
              rounds = static_cast<int>(std::max(traffic, 2 * bytes) / a_round) + 1;
    uint4* set = b.at<uint4>();
    const auto sweeps = [&](Stream& s, int times) {
      launch(s, {.grid = dim3(blocks), .block = dim3(kSliceThreads)}, sweep_slices<kWrite>, set, count, times);
    };
    const auto move_and_warm = [&](Stream& s) {
      set = b.at<uint4>() + place_of(b.memory.bytes(), static_cast<int64_t>(bytes), &taken) / 16;
      sweeps(s, once);
    };
    const auto work = [&](Stream& s) { sweeps(s, rounds); };
    b.probing.add({name, {{"bytes", bytes}}, "warm", "B/s", b.timer.rate(a_round * rounds, work, rule, move_and_warm), {}});
  }
}

}  // namespace

void probe_cache(Probing& probing) {
  const int64_t bytes = std::max(64 * kMi, 4 * probing.info().l2_bytes);
  Bench bench{probing, GpuTimer(probing.device()), Buffer(probing.device(), bytes)};
  fill_random(bench.timer.stream(), bench.memory);
  add_shared(bench);
  add_l1(bench);
  add_constant(bench);
  add_dsmem(bench);
  probing.progress(0.2, "L2 read");
  add_l2_curve<false>(bench, "l2.read");
  probing.progress(0.6, "L2 write");
  add_l2_curve<true>(bench, "l2.write");
  for (Figure& figure : cache_capacities(probing.so_far(), "l2.read")) probing.add(std::move(figure));
}

}  // namespace rafter::cuda
