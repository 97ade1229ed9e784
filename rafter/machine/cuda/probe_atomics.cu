// How many atomic additions a second, by how many threads meet at an address.
//
// Global memory: all threads at one address; each warp at its own (its 32 lanes meet there); each thread at its own, neighbours
// side by side, all of it in L2; each addition at a random word of 64 MiB. Shared memory: a block at one word, or each thread
// at its own. 32-bit integers and floats; `red` wants no result and `atom` does, which is what the states say. Two blocks of
// 512 threads fill each SM; rounds are chosen so that a launch takes about half a millisecond. An addition of a lane counts as
// one. The loop is 8 operations unrolled, each one RED.E.ADD, ATOMG.E.ADD or ATOMS in the SASS on sm_90, with no vote of the
// lanes before it: a place is computed per lane, so that the compiler can't add up a warp's values itself. Shared memory has no
// float addition: it is a loop of compare and swap. Expect: at one address about one request of a warp a cycle for integers,
// whose lanes L2 adds up, and far fewer for floats; side by side, a rate that is a share of L2's bandwidth; at random, one lane
// a cycle and slice of L2.
#include <fmt/format.h>

#include <algorithm>
#include <concepts>

#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int kThreads = 512, kBlocksPerSm = 2, kUnrolled = 8;
constexpr int kRandomBits = 24;  // words to choose from: 64 MiB
constexpr int64_t kRandomBytes = int64_t{4} << kRandomBits;

template <typename T, bool kReturns>
__device__ inline T add_global(T* at, T value) {
  T old{};
  if constexpr (std::same_as<T, float>) {
    if constexpr (kReturns)
      asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(at), "f"(value) : "memory");
    else
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"(value) : "memory");
  } else {
    if constexpr (kReturns)
      asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
    else
      asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
  }
  return old;
}

template <typename T>
__device__ inline T add_shared(T* at, T value) {
  return atomicAdd(at, value);
}

struct Places {
  uint32_t warp_step = 0, lane_step = 0;  // words
  bool random = false;
};

template <typename T, bool kReturns, bool kRandom>
__global__ void add_to_global(T* data, Places places, int rounds, T value, T* out) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  T* own = data + thread / 32 * places.warp_step + thread % 32 * places.lane_step;
  auto state = static_cast<uint32_t>(scramble(thread));
  T sum{};
#pragma unroll 1
  for (int i = 0; i < rounds; i += kUnrolled) {
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u) {
      if constexpr (kRandom) {  // Knuth's linear congruential generator; its high bits are the random ones
        state = state * 1664525u + 1013904223u;
        own = data + (state >> (32 - kRandomBits));
      }
      sum += add_global<T, kReturns>(own, value);
    }
  }
  if (kReturns && sum == T{12345}) *out = sum;
}

template <typename T>
__global__ void add_to_shared(Places places, int rounds, T value, T* out) {
  __shared__ T data[kThreads];
  data[threadIdx.x] = T{};
  __syncthreads();
  T* own = data + threadIdx.x / 32 * places.warp_step + threadIdx.x % 32 * places.lane_step;
  T sum{};
#pragma unroll 1
  for (int i = 0; i < rounds; i += kUnrolled) {
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u) sum += add_shared(own, value);
  }
  if (sum == T{12345}) *out = sum;
}

class Bench {
 public:
  explicit Bench(Probing& probing)
      : probing_(probing),
        timer_(probing.device()),
        data_(probing.device(), kRandomBytes),
        sink_(probing.device(), 256),
        blocks_(probing.info().multiprocessors * kBlocksPerSm) {
    timer_.stream().fill(data_.data(), 0, data_.bytes());
    // A place of its own for each thread lies inside the buffer, whatever the number of SMs.
    blocks_ = static_cast<int>(std::min<int64_t>(blocks_, kRandomBytes / 4 / kThreads));
  }

  template <typename T, bool kReturns>
  void add_global(const char* pattern, const Places& places) {
    const auto kernel = places.random ? add_to_global<T, kReturns, true> : add_to_global<T, kReturns, false>;
    add(fmt::format("atomic.global.{}.{}", pattern, type<T>()), kReturns ? "atom" : "red", [=, this](Stream& s, int rounds) {
      launch(s, shape(), kernel, static_cast<T*>(data_.data()), places, rounds, T{1}, static_cast<T*>(sink_.data()));
    });
  }

  template <typename T>
  void add_shared(const char* pattern, const Places& places) {
    add(fmt::format("atomic.shared.{}.{}", pattern, type<T>()), "atom", [=, this](Stream& s, int rounds) {
      launch(s, shape(), add_to_shared<T>, places, rounds, T{1}, static_cast<T*>(sink_.data()));
    });
  }

 private:
  template <typename T>
  static const char* type() {
    return std::same_as<T, float> ? "f32" : "u32";
  }
  LaunchShape shape() const { return {.grid = dim3(static_cast<unsigned>(blocks_)), .block = dim3(kThreads)}; }

  void add(const std::string& name, const char* state, const std::function<void(Stream&, int rounds)>& start) {
    const auto once = [&](int rounds) { return timer_.time([&](Stream& s) { start(s, rounds); }).value; };
    timer_.load([&](Stream& s) { start(s, kUnrolled); });
    const double fit = 0.5e-3 / std::max(once(kUnrolled), 1e-6);
    const int rounds = kUnrolled * static_cast<int>(std::clamp(fit, 1.0, 4096.0));
    const double additions = static_cast<double>(rounds) * kThreads * blocks_;
    StopRule rule = probing_.rule(0.1);
    rule.most_seconds = probing_.quick() ? 0.04 : 0.2;
    const auto work = [&](Stream& s) { start(s, rounds); };
    probing_.add({name, {}, state, "1/s", timer_.rate(additions, work, rule), {}});
  }

  Probing& probing_;
  GpuTimer timer_;
  Buffer data_, sink_;
  int blocks_;
};

constexpr Places kSame{}, kWarp{.warp_step = 32}, kThread{.warp_step = 32, .lane_step = 1}, kRandom{.random = true};

template <typename T>
void add_type(Bench& bench) {
  struct Pattern {
    const char* name;
    Places places;
  };
  for (const Pattern& p : {Pattern{"same", kSame}, {"warp", kWarp}, {"thread", kThread}, {"random", kRandom}}) {
    bench.add_global<T, false>(p.name, p.places);
    bench.add_global<T, true>(p.name, p.places);
  }
  bench.add_shared<T>("same", kSame);
  bench.add_shared<T>("spread", kThread);
}

}  // namespace

void probe_atomics(Probing& probing) {
  Bench bench(probing);
  add_type<uint32_t>(bench);
  probing.progress(0.5, "floats");
  add_type<float>(bench);
}

}  // namespace rafter::cuda
