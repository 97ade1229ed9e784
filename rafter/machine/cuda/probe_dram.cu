// DRAM bandwidth: the roof of everything that streams, by how much is streamed.
//
// Every thread moves 16 bytes at a time and has eight loads in flight, over a grid that fills the GPU many times. The roof
// grows with the size, since the first and the last loads of a sweep leave the memory idle: a figure without its size says
// little. Access that is not a plain sweep gets figures of its own: one 32-byte sector of every `stride` bytes, and segments of
// `segment` bytes in random order. Only bytes that the program asked for count.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/base/units.h"
#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int64_t kMi = int64_t{1} << 20;
constexpr int kThreads = 512;  // of strided and random reads

// Reads only: a value that the sum will hardly take keeps the loads alive.
template <int kInFlight>
__global__ void read_stream(const uint4* in, int64_t count, uint4* out) {
  uint4 sum{};
  for_groups<kInFlight>(count, [&](int64_t i, bool full) {
    uint4 v[kInFlight];
    load_group(v, in, i, count, full);
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) sum = mix(sum, v[u]);
  });
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) *out = sum;
}

template <int kInFlight>
__global__ void write_stream(uint4* out, int64_t count, unsigned value) {
  for_groups<kInFlight>(count, [&](int64_t i, bool full) {
    uint4 v[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) v[u] = make_uint4(value, value + u, value + 2, static_cast<unsigned>(i));
    store_group(out, v, i, count, full);
  });
}

template <int kInFlight>
__global__ void copy_stream(const uint4* in, uint4* out, int64_t count) {
  for_groups<kInFlight>(count, [&](int64_t i, bool full) {
    uint4 v[kInFlight];
    load_group(v, in, i, count, full);
    store_group(out, v, i, count, full);
  });
}

__device__ inline uint4 scaled_sum(const uint4& a, const uint4& b, float scale) {
  const auto f = [&](unsigned x, unsigned y) { return __float_as_uint(__uint_as_float(x) + scale * __uint_as_float(y)); };
  return make_uint4(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w));
}

// out = a + scale * b, McCalpin's STREAM triad.
template <int kInFlight>
__global__ void triad_stream(const uint4* a, const uint4* b, uint4* out, int64_t count, float scale) {
  for_groups<kInFlight>(count, [&](int64_t i, bool full) {
    uint4 va[kInFlight], vb[kInFlight];
    load_group(va, a, i, count, full);
    load_group(vb, b, i, count, full);
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) va[u] = scaled_sum(va[u], vb[u], scale);
    store_group(out, va, i, count, full);
  });
}

// Thread pairs read one sector (32 bytes) of every `stride` bytes.
__global__ void strided_read(const uint4* in, int64_t sectors, int64_t stride, uint4* out) {
  uint4 sum{};
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 8
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < 2 * sectors; i += threads) {
    sum = mix(sum, load_once(in + (i / 2) * (stride / 16) + i % 2));
  }
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) *out = sum;
}

// Segments of `segment` bytes at random places: segment / 16 neighbouring threads share one. `segment` and `segments` are
// powers of two, at most 2^32 of them: a division would take longer than the load.
__global__ void random_read(const uint4* in, int64_t segments, int segment, int64_t reads, uint4* out) {
  uint4 sum{};
  const int per = segment / 16, shift = __ffs(per) - 1;
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 8
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < reads * per; i += threads) {
    const int64_t place = scramble32(static_cast<uint32_t>(i >> shift)) & (segments - 1);
    sum = mix(sum, load_once(in + place * per + (i & (per - 1))));
  }
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) *out = sum;
}

struct Memory {
  explicit Memory(Probing& probing)
      : bytes(room(probing)), a(probing.device(), bytes), b(probing.device(), bytes), c(probing.device(), bytes) {}
  // Up to 8 GiB each, and no more than a fifth of what is free.
  static int64_t room(Probing& probing) {
    int64_t bytes = 8192 * kMi;
    while (bytes > kMi && bytes > probing.device().info().free_bytes / 5) bytes /= 2;
    return bytes;
  }
  uint4* at(const Buffer& buffer) const { return static_cast<uint4*>(buffer.data()); }
  int64_t bytes;
  Buffer a, b, c;
};

// Reading is fastest with eight loads in flight a thread and no more blocks than fit; what writes is faster by 7% with one
// access a thread and a block for every 4 KiB, which keeps the DRAM pages that are open together few.
constexpr int kReadFlight = 8, kReadThreads = 512;
constexpr int kThreadsOfOne = 256;

struct Sweep {
  const char* name;
  int streams;  // that together make up the bytes of a size
  void (*launch)(Stream&, const Memory&, int64_t count, int multiprocessors);
};

LaunchShape one_each(int64_t count) {
  return {.grid = dim3(static_cast<unsigned>(ceil_div(count, kThreadsOfOne))), .block = dim3(kThreadsOfOne)};
}

LaunchShape resident(int64_t count, int multiprocessors) {
  const int64_t wanted = ceil_div(count, int64_t{kReadThreads} * kReadFlight);
  const int64_t grid = std::clamp<int64_t>(wanted, 1, int64_t{multiprocessors} * 8);
  return {.grid = dim3(static_cast<unsigned>(grid)), .block = dim3(kReadThreads)};
}

constexpr Sweep kSweeps[] = {
    {"dram.read", 1,
     [](Stream& s, const Memory& m, int64_t count, int sms) {
       launch(s, resident(count, sms), read_stream<kReadFlight>, m.at(m.a), count, m.at(m.c));
     }},
    {"dram.write", 1,
     [](Stream& s, const Memory& m, int64_t count, int) {
       launch(s, one_each(count), write_stream<1>, m.at(m.c), count, 77u);
     }},
    {"dram.copy", 2,
     [](Stream& s, const Memory& m, int64_t count, int) {
       launch(s, one_each(count), copy_stream<1>, m.at(m.a), m.at(m.c), count);
     }},
    {"dram.triad", 3,
     [](Stream& s, const Memory& m, int64_t count, int) {
       launch(s, one_each(count), triad_stream<1>, m.at(m.a), m.at(m.b), m.at(m.c), count, 0.5f);
     }},
};

// The whole of a size is the traffic: a copy of 1 GiB reads half of it and writes half.
void add_sweep(Probing& probing, GpuTimer& timer, const Memory& memory, const Sweep& sweep, int64_t bytes, bool warm) {
  const int64_t count = bytes / sweep.streams / 16;
  const double moved = static_cast<double>(count * 16 * sweep.streams);
  const int sms = probing.info().multiprocessors;
  const auto work = [&](Stream& stream) { sweep.launch(stream, memory, count, sms); };
  const StopRule rule = probing.rule(0.3);
  const Estimate value = warm ? timer.rate(moved, work, rule, work) : timer.cold_rate(moved, work, rule);
  probing.add({sweep.name, {{"bytes", static_cast<double>(bytes)}}, warm ? "warm" : "cold", "B/s", value, {}});
}

std::vector<int64_t> sizes(const Probing& probing, int64_t most) {
  std::vector<int64_t> list;
  const int64_t factor = probing.quick() ? 8 : 2;
  for (int64_t bytes = kMi; bytes <= most; bytes *= factor) list.push_back(bytes);
  if (list.back() != most) list.push_back(most);
  if (most > 3072 * kMi) list.push_back(3072 * kMi);  // the weights of a 1.5B model
  std::sort(list.begin(), list.end());
  return list;
}

void add_strided(Probing& probing, GpuTimer& timer, const Memory& memory) {
  const int64_t span = std::min<int64_t>(memory.bytes, 2048 * kMi);
  for (int64_t stride = 32; stride <= 4096; stride *= 2) {
    const int64_t sectors = span / stride;
    const auto work = [&](Stream& stream) {
      launch(stream, {.grid = dim3(probing.info().multiprocessors * 8), .block = dim3(kThreads)}, strided_read,
             memory.at(memory.a), sectors, stride, memory.at(memory.c));
    };
    probing.add({"dram.strided",
                 {{"stride", static_cast<double>(stride)}},
                 "cold",
                 "B/s",
                 timer.cold_rate(static_cast<double>(sectors * 32), work, probing.rule(0.2)),
                 {}});
  }
}

void add_random(Probing& probing, GpuTimer& timer, const Memory& memory) {
  const int64_t span = std::min<int64_t>(memory.bytes, 4096 * kMi), wanted = 512 * kMi;
  for (int segment = 32; segment <= 4096; segment *= 2) {
    const int64_t reads = std::min(wanted, span) / segment;
    const auto work = [&](Stream& stream) {
      launch(stream, {.grid = dim3(probing.info().multiprocessors * 8), .block = dim3(kThreads)}, random_read,
             memory.at(memory.a), span / segment, segment, reads, memory.at(memory.c));
    };
    probing.add({"dram.random",
                 {{"segment", static_cast<double>(segment)}},
                 "cold",
                 "B/s",
                 timer.cold_rate(static_cast<double>(reads * segment), work, probing.rule(0.2)),
                 {}});
  }
}

}  // namespace

void probe_dram(Probing& probing) {
  GpuTimer timer(probing.device());
  const Memory memory(probing);
  fill_random(timer.stream(), memory.a);
  fill_random(timer.stream(), memory.b);
  const std::vector<int64_t> cold = sizes(probing, memory.bytes);
  const int64_t warm_limit = probing.info().l2_bytes;
  double done = 0;
  for (const Sweep& sweep : kSweeps) {
    for (const int64_t bytes : cold) {
      add_sweep(probing, timer, memory, sweep, bytes, false);
      if (bytes <= warm_limit) add_sweep(probing, timer, memory, sweep, bytes, true);
    }
    probing.progress(++done / 6, sweep.name);
  }
  add_strided(probing, timer, memory);
  probing.progress(5.0 / 6, "strided");
  add_random(probing, timer, memory);
}

}  // namespace rafter::cuda
