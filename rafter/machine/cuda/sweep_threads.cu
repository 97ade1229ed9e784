// How the shape of a launch decides what a memory-bound kernel gets: the sweeps of the chapter on threads.
//
// y = a x + y over floats (saxpy) and c = a + b are the first kernels anyone writes, and all of their time is DRAM's. Each
// sweep moves one thing: the size, the block, the grid, what limits occupancy, the paths a warp takes, the width of an access,
// the loads in flight. Rates count the bytes that the maths needs: 12 an element, two read and one written.
#include <algorithm>
#include <array>

#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/stopwatch.cuh"
#include "rafter/machine/cuda/streams.cuh"
#include "rafter/machine/occupancy.h"

namespace rafter::cuda {

namespace {

constexpr int64_t kMi = int64_t{1} << 20;
constexpr int64_t kElements = 64 * kMi;  // 768 MiB of traffic a pass, far past any L2

// The kernels as a beginner writes them: one thread, one element.
__global__ void add(const float* a, const float* b, float* c, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void saxpy(float a, const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// As many threads as the grid has, each taking every so-many-th element.
__global__ void saxpy_grid_stride(float a, const float* x, float* y, int64_t n) {
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += threads) y[i] = a * x[i] + y[i];
}

// One access of sizeof(Vector) bytes a thread.
template <typename Vector>
__global__ void copy_by(const Vector* in, Vector* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = in[i];
}

// Which blocks live on each SM at the same time.
struct Residents {
  int* now = nullptr;   // by SM
  int* most = nullptr;  // by SM
};

__device__ inline int sm_id() {
  int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Reads with kInFlight 16-byte loads in flight a thread, while kHeld registers hold values that are needed at the end: the way
// to a kernel of many registers. Dynamic shared memory and the block size are the launch's.
template <int kInFlight, int kHeld, int kMostThreads>
__global__ void __launch_bounds__(kMostThreads) read_held(const uint4* in, int64_t count, uint4* out, Residents residents) {
  if (residents.now != nullptr && threadIdx.x == 0) {
    atomicMax(residents.most + sm_id(), atomicAdd(residents.now + sm_id(), 1) + 1);
  }
  unsigned held[kHeld > 0 ? kHeld : 1];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) asm volatile("add.u32 %0, %1, %2;" : "=r"(held[i]) : "r"(threadIdx.x), "r"(i));
  uint4 sum{};
  for_groups<kInFlight>(count, [&](int64_t i, bool full) {
    uint4 v[kInFlight];
    load_group(v, in, i, count, full);
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) sum = mix(sum, v[u]);
  });
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) sum.z += held[i] * sum.w;
    *out = sum;
  }
  if (residents.now != nullptr && threadIdx.x == 0) {
    const int64_t start = global_nanoseconds();
    while (global_nanoseconds() - start < 20'000) {
    }
    // The answer is waited for: the next block on this SM must find this one gone.
    if (atomicSub(residents.now + sm_id(), 1) < 0) *out = sum;
  }
}

using ReadHeld = void (*)(const uint4*, int64_t, uint4*, Residents);

// A warp whose lanes take `paths` different ways through a switch, each a chain of FMAs: the ways run one after the other.
__global__ void diverge(int paths, int rounds, float seed, float* out) {
  const int way = static_cast<int>(threadIdx.x) % 32 % paths;
  float x = seed + static_cast<float>(threadIdx.x);
  for (int r = 0; r < rounds; ++r) {
    for (int p = 0; p < paths; ++p) {
      if (way == p) {
        // The barrier of the other side is what makes lanes of other ways wait: without one the compiler may merge the ways.
#pragma unroll
        for (int i = 0; i < 64; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(0.999f), "f"(0.001f));
      }
      __syncwarp();
    }
  }
  if (x == 12345.678f) *out = x;
}

SmLimits limits_of(const DeviceInfo& info) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, info.id.index), "reading a device attribute");
    return value;
  };
  return {attribute(cudaDevAttrMaxThreadsPerMultiProcessor), attribute(cudaDevAttrMaxBlocksPerMultiprocessor),
          attribute(cudaDevAttrMaxRegistersPerMultiprocessor), attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          attribute(cudaDevAttrReservedSharedMemoryPerBlock)};
}

class Sweeps {
 public:
  explicit Sweeps(Probing& probing)
      : probing_(probing),
        timer_(probing.device()),
        sms_(probing.info().multiprocessors),
        a_(probing.device(), kElements * 4),
        b_(probing.device(), kElements * 4),
        c_(probing.device(), kElements * 4),
        counters_(probing.device(), 2 * sms_ * 4) {
    fill_random(timer_.stream(), a_);
    fill_random(timer_.stream(), b_);
  }

  void sizes() {
    for (int64_t n = 256; n <= kElements; n *= probing_.quick() ? 64 : 4) {
      const auto blocks = static_cast<unsigned>(ceil_div(n, 256));
      const LaunchShape shape{.grid = dim3(blocks), .block = dim3(256)};
      add_rate("threads.add", {{"bytes", 12.0 * static_cast<double>(n)}}, 12.0 * static_cast<double>(n),
               [&](Stream& s) { launch(s, shape, add, a(), b(), c(), n); });
      add_rate("threads.saxpy", {{"bytes", 12.0 * static_cast<double>(n)}}, 12.0 * static_cast<double>(n),
               [&](Stream& s) { launch(s, shape, saxpy, 0.5f, a(), c(), n); });
    }
  }

  void blocks() {
    for (int threads = 32; threads <= 1024; threads *= 2) {
      const LaunchShape shape{.grid = dim3(static_cast<unsigned>(kElements / threads)),
                              .block = dim3(static_cast<unsigned>(threads))};
      add_rate("threads.block", {{"threads", threads}}, 12.0 * kElements,
               [&](Stream& s) { launch(s, shape, saxpy, 0.5f, a(), c(), kElements); });
    }
  }

  // Blocks of 256 in multiples and fractions of the SMs; 8 of them fill an SM.
  void grids() {
    for (int eighths = 1; eighths <= 512; eighths *= 2) {
      const int blocks = std::max(1, sms_ * eighths / 8);
      const LaunchShape shape{.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(256)};
      add_rate("threads.grid", {{"blocks", blocks}}, 12.0 * kElements,
               [&](Stream& s) { launch(s, shape, saxpy_grid_stride, 0.5f, a(), c(), kElements); });
    }
  }

  void widths() {
    add_width<uint8_t>();
    add_width<uint16_t>();
    add_width<float>();
    add_width<float2>();
    add_width<float4>();
  }

  void in_flight() {
    add_in_flight<1>();
    add_in_flight<2>();
    add_in_flight<4>();
    add_in_flight<8>();
    add_in_flight<16>();
  }

  void occupancies() {
    for (const int threads : {64, 128, 256, 512, 1024}) {
      occupancy("threads", read_held<1, 0, 1024>,
                {.grid = dim3(static_cast<unsigned>(sms_)), .block = dim3(static_cast<unsigned>(threads))});
    }
    for (const int kib : {8, 16, 24, 32, 48, 64, 100, 200}) {
      const size_t bytes = static_cast<size_t>(kib) * 1024;
      if (static_cast<int64_t>(bytes) > probing_.info().shared_bytes_per_block) continue;
      occupancy("shared", read_held<1, 0, 1024>,
                {.grid = dim3(static_cast<unsigned>(sms_ * 64)), .block = dim3(256), .shared_bytes = bytes});
    }
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(sms_ * 64)), .block = dim3(256)};
    occupancy("registers", read_held<1, 0, 256>, shape);
    occupancy("registers", read_held<1, 40, 256>, shape);
    occupancy("registers", read_held<1, 64, 256>, shape);
    occupancy("registers", read_held<1, 100, 256>, shape);
  }

  void divergence() {
    const int rounds = 256;
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(sms_)), .block = dim3(128)};
    for (int paths = 1; paths <= 32; paths *= 2) {
      // Time of one lane's 64 * rounds FMAs, whichever way it takes.
      const Estimate value =
          timer_.seconds([&](Stream& s) { launch(s, shape, diverge, paths, rounds, 1.0f, c()); }, probing_.rule(0.2));
      probing_.add({"threads.divergence", {{"paths", paths}}, "", "s", value, "64 FMAs a path, 256 times"});
    }
  }

 private:
  using Axes = std::vector<std::pair<std::string, double>>;
  float* a() const { return static_cast<float*>(a_.data()); }
  float* b() const { return static_cast<float*>(b_.data()); }
  float* c() const { return static_cast<float*>(c_.data()); }

  void add_rate(const char* name, Axes at, double bytes, const GpuTimer::Work& work, const std::string& remark = {}) {
    probing_.add({name, std::move(at), "cold", "B/s", timer_.cold_rate(bytes, work, probing_.rule(0.2)), remark});
  }

  template <typename Vector>
  void add_width() {
    const int64_t n = kElements * 4 / static_cast<int64_t>(sizeof(Vector));
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(ceil_div(n, 256))), .block = dim3(256)};
    add_rate("threads.width", {{"bytes", static_cast<double>(sizeof(Vector))}}, 8.0 * kElements, [&](Stream& s) {
      launch(s, shape, copy_by<Vector>, static_cast<const Vector*>(a_.data()), static_cast<Vector*>(c_.data()), n);
    });
  }

  // Few warps, so that what each has in flight decides: one block of 256 threads on an SM.
  template <int kInFlight>
  void add_in_flight() {
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(sms_)), .block = dim3(256)};
    add_rate("threads.in_flight", {{"loads", kInFlight}}, 4.0 * kElements, [&](Stream& s) {
      launch(s, shape, read_held<kInFlight, 0, 256>, static_cast<const uint4*>(a_.data()), kElements / 4,
             reinterpret_cast<uint4*>(c()), Residents{});
    });
  }

  void occupancy(const char* what, ReadHeld kernel, const LaunchShape& shape) {
    if (shape.shared_bytes > 48 * 1024) allow_shared(kernel, shape.shared_bytes);
    const auto run = [&](Stream& s, Residents residents, int64_t count) {
      launch(s, shape, kernel, static_cast<const uint4*>(a_.data()), count, reinterpret_cast<uint4*>(c()), residents);
    };
    cudaFuncAttributes facts{};
    check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)), "reading a kernel's registers");
    const int threads = static_cast<int>(shape.block.x);
    const SmLimits limits = limits_of(probing_.info());
    const Occupancy predicted =
        predict_occupancy(limits, {threads, facts.numRegs, static_cast<int64_t>(shape.shared_bytes + facts.sharedSizeBytes)});
    const int resident = residents_of(run, shape) * threads / 32;
    const int warps = std::min(predicted.warps, static_cast<int>(shape.grid.x) / sms_ * threads / 32);
    const Axes at = {{"warps", warps},
                     {"threads", threads},
                     {"registers", facts.numRegs},
                     {"shared", static_cast<double>(shape.shared_bytes)}};
    const std::string name = std::string("threads.occupancy_") + what;
    add_rate(
        name.c_str(), at, 4.0 * kElements, [&](Stream& s) { run(s, {}, kElements / 4); },
        fmt::format("predicted {} warps an SM, limited by {}; seen {}", warps,
                    warps < predicted.warps ? "the grid" : rafter::name(predicted.limit), resident));
    Estimate seen;
    seen.median = resident;
    seen.samples = 1;
    probing_.add({name + "_seen", at, "", "warps", seen, {}});
  }

  // The most blocks that were on one SM together.
  template <typename Run>
  int residents_of(const Run& run, const LaunchShape& shape) {
    Stream& stream = timer_.stream();
    stream.fill(counters_.data(), 0, counters_.bytes());
    int* const now = static_cast<int*>(counters_.data());
    run(stream, {now, now + sms_}, int64_t{shape.grid.x} * shape.block.x);
    std::vector<int> most(static_cast<size_t>(sms_));
    stream.copy_out(most.data(), now + sms_, sms_ * 4);
    stream.synchronize();
    return *std::max_element(most.begin(), most.end());
  }

  Probing& probing_;
  GpuTimer timer_;
  int sms_;
  Buffer a_, b_, c_, counters_;
};

}  // namespace

void sweep_threads(Probing& probing) {
  Sweeps sweeps(probing);
  const std::array<std::pair<const char*, void (Sweeps::*)()>, 7> all = {{{"sizes", &Sweeps::sizes},
                                                                          {"block sizes", &Sweeps::blocks},
                                                                          {"grid sizes", &Sweeps::grids},
                                                                          {"access widths", &Sweeps::widths},
                                                                          {"loads in flight", &Sweeps::in_flight},
                                                                          {"occupancy", &Sweeps::occupancies},
                                                                          {"divergence", &Sweeps::divergence}}};
  for (size_t i = 0; i < all.size(); ++i) {
    probing.progress(static_cast<double>(i) / all.size(), all[i].first);
    (sweeps.*all[i].second)();
  }
}

}  // namespace rafter::cuda
