// What a GPU charges for order: launches, graph nodes, barriers, events, round trips, copies of four bytes.
//
// Three clocks. What the GPU spends on one item of a queue is a difference: the time of 400 of them less that of 80, both
// queued before the first may start, so that neither the host nor the events count ("queued"). What the host spends is the
// host's clock around the calls, few enough that no queue is full ("host"). What one item takes with both at work, each call
// made while the GPU runs the ones before, is the host's clock around calls and a wait ("live", and round trips). A grid
// barrier is timed inside its kernel.
//
// Expect on an H100 or H200: about 2.5 us a kernel in a live stream, 1.3 us a node of a graph, 1.2 us a grid barrier, 5 to
// 10 us a round trip. Programmatic dependent launch overlaps a kernel's start with the end of the one before.
#include <cooperative_groups.h>

#include <chrono>

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/stopwatch.cuh"

namespace rafter::cuda {

namespace {

constexpr double kShare = 0.2;           // of a figure's usual time
constexpr int kMany = 400, kFew = 80;    // queued items; a stream takes about a thousand before a launch waits
constexpr int kTrips = 16, kCalls = 64;  // in one sample of the host's clock
constexpr int kBarrierThreads = 256, kBarriers = 500;

__global__ void nothing() {}

// Written for dependent launch: lets the next begin at once and waits for the one before.
__global__ void nothing_early() {
  allow_next();
  wait_for_previous();
}

__global__ void cooperative_barriers(int count, Stamp* stamp) {
  const auto grid = cooperative_groups::this_grid();
  grid.sync();  // all are here
  const Stopwatch watch;
  for (int i = 0; i < count; ++i) grid.sync();
  const Stamp time = watch.read();
  if (blockIdx.x == 0 && threadIdx.x == 0) *stamp = time;
}

// The least that a barrier can be: one counter, which every block raises and then watches.
__device__ void pass_barrier(unsigned* arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    while (seen < target);
  }
  __syncthreads();
}

__global__ void counter_barriers(int count, unsigned* arrived, Stamp* stamp) {
  pass_barrier(arrived, gridDim.x);
  const Stopwatch watch;
  for (int i = 2; i < count + 2; ++i) pass_barrier(arrived, i * gridDim.x);
  const Stamp time = watch.read();
  if (blockIdx.x == 0 && threadIdx.x == 0) *stamp = time;
}

void launch_one(Stream& stream, bool early, int blocks = 1) {
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(blocks)),
                          .block = dim3(blocks == 1 ? 32 : 256),
                          .dependent = early ? Dependent::early : Dependent::after};
  launch(stream, shape, early ? nothing_early : nothing);
}

cudaStream_t native(Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

class Overheads {
 public:
  explicit Overheads(Probing& probing)
      : probing_(probing),
        timer_(probing.device()),
        event_(timer_.stream().make_event()),
        pinned_(probing.device(), 64),
        memory_(probing.device(), 64) {}

  // Of kernels of one small block, and of kernels that fill every SM.
  void launches() {
    const auto stream_of = [](bool early, int blocks = 1) {
      return [early, blocks](Stream& stream, int count) {
        for (int i = 0; i < count; ++i) launch_one(stream, early, blocks);
      };
    };
    for (const int blocks : grids()) {
      queued("overhead.launch_stream", stream_of(false, blocks),
             "empty kernels in one stream, all launched before the first runs", blocks);
      if (has_early()) {
        queued("overhead.launch_pdl", stream_of(true, blocks), "as launch_stream, by programmatic dependent launch", blocks);
      }
    }
    const auto all = [&] {
      stream_of(false)(stream(), kCalls);
      stream().synchronize();
    };
    host("overhead.launch_stream", "live", kCalls, all, "empty kernels in one stream, each launched while others run");
    host(
        "overhead.launch_host", "host", kCalls, [&] { stream_of(false)(stream(), kCalls); }, "");
  }

  void graphs() {
    for (const int blocks : grids()) {
      add_graph("overhead.launch_graph", false, blocks, "a chain of empty kernels in a CUDA graph, a node");
      if (has_early()) add_graph("overhead.graph_pdl", true, blocks, "as launch_graph, with programmatic edges");
    }
    const auto graph = chain(100, false);
    host(
        "overhead.graph_launch", "host", 1, [&] { graph->launch(stream()); }, "a graph of 100 empty kernels, the call alone");
  }

  void barriers() {
    int cooperative = 0;
    check(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, probing_.info().id.index),
          "asking for cooperative launch");
    if (cooperative == 0) return;
    const PinnedBuffer memory(probing_.device(), sizeof(Stamp));
    auto* stamp = memory.as<Stamp>();
    auto* arrived = static_cast<unsigned*>(memory_.data());
    int count = kBarriers;
    void* grid_arguments[] = {&count, &stamp};
    void* counter_arguments[] = {&count, &arrived, &stamp};
    barrier("cooperative", reinterpret_cast<const void*>(cooperative_barriers), grid_arguments, *stamp,
            "grid.sync() of cooperative groups, one block an SM");
    barrier("counter", reinterpret_cast<const void*>(counter_barriers), counter_arguments, *stamp,
            "one atomic counter, one block an SM");
  }

  void events() {
    const auto records = [&](Stream& stream, int count) {
      for (int i = 0; i < count; ++i) stream.record(*event_);
    };
    queued("overhead.event", records, "a record");
    host(
        "overhead.event", "host", kCalls, [&] { records(stream(), kCalls); }, "a record, the call alone");
  }

  void trips() {
    const auto trip = [&](const auto& call) {
      return [this, call] {
        for (int i = 0; i < kTrips; ++i) {
          call();
          stream().synchronize();
        }
      };
    };
    auto* device = static_cast<char*>(memory_.data());
    host("overhead.round_trip", "", kTrips, trip([&] { launch_one(stream(), false); }), "an empty kernel and a wait for it");
    host("overhead.memcpy_h2d", "", kTrips, trip([&, device] { stream().copy_in(device, pinned_.as<void>(), 4); }),
         "four pinned bytes and a wait for them");
    host("overhead.memcpy_d2h", "", kTrips, trip([&, device] { stream().copy_out(pinned_.as<void>(), device, 4); }),
         "four pinned bytes and a wait for them");
    host("overhead.memcpy_d2d", "", kTrips, trip([&, device] { stream().copy(device, device + 32, 4); }),
         "four bytes within the GPU and a wait for them");
    const auto copies = [device](Stream& stream, int count) {
      for (int i = 0; i < count; ++i) stream.copy(device, device + 32, 4);
    };
    queued("overhead.memcpy_d2d", copies, "four bytes within the GPU, in a queue of such copies");
  }

 private:
  Stream& stream() { return timer_.stream(); }
  bool has_early() const { return probing_.info().compute_major >= 9 && dependent_launch_enabled(); }

  std::vector<int> grids() const { return {1, 2 * probing_.info().multiprocessors}; }

  // `blocks`: of each kernel; 0 where it is no question.
  void add(const char* name, const char* state, const Estimate& value, const char* remark, int blocks = 0) {
    Figure figure{name, {}, state, "s", value, remark};
    if (blocks > 0) figure.at = {{"blocks", blocks}};
    probing_.add(std::move(figure));
  }

  // Seconds of one item as the GPU works a full queue off.
  template <typename Many, typename Few>
  void add_difference(const char* name, const Many& many, const Few& few, const char* remark, int blocks = 0) {
    timer_.load(few);
    timer_.load(many);
    const auto take = [&] {
      const Sample long_queue = timer_.time(many), short_queue = timer_.time(few);
      return Sample{(long_queue.value - short_queue.value) / (kMany - kFew), long_queue.clock_hz};
    };
    take();
    add(name, "queued", measure(take, probing_.rule(kShare), timer_.default_clock_hz()), remark, blocks);
  }
  template <typename Items>
  void queued(const char* name, const Items& items, const char* remark, int blocks = 0) {
    const auto work = [&](int count) { return [&items, count](Stream& stream) { items(stream, count); }; };
    add_difference(name, work(kMany), work(kFew), remark, blocks);
  }

  // Seconds of one of the `count` items that `work` does, by the host's clock; what it leaves running is waited for after.
  template <typename Work>
  void host(const char* name, const char* state, int count, const Work& work, const char* remark) {
    const auto take = [&] {
      const auto start = std::chrono::steady_clock::now();
      work();
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      stream().synchronize();
      return Sample{spent.count() / count, 0};
    };
    for (int i = 0; i < 3; ++i) take();
    add(name, state, measure(take, probing_.rule(kShare)), remark);
  }

  std::unique_ptr<Graph> chain(int count, bool early, int blocks = 1) {
    launch_one(stream(), early, blocks);  // code is loaded outside the capture
    stream().synchronize();
    stream().begin_capture();
    for (int i = 0; i < count; ++i) launch_one(stream(), early, blocks);
    return stream().end_capture();
  }
  void add_graph(const char* name, bool early, int blocks, const char* remark) {
    const auto long_chain = chain(kMany, early, blocks), short_chain = chain(kFew, early, blocks);
    add_difference(
        name, [&](Stream& stream) { long_chain->launch(stream); }, [&](Stream& stream) { short_chain->launch(stream); }, remark,
        blocks);
  }

  void barrier(const char* state, const void* kernel, void** arguments, const Stamp& stamp, const char* remark) {
    const auto blocks = static_cast<unsigned>(probing_.info().multiprocessors);
    const auto take = [&] {
      stream().fill(memory_.data(), 0, 4);  // the counter
      check(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(kBarrierThreads), arguments, 0, native(stream())),
            "launching a cooperative kernel");
      stream().synchronize();
      return Sample{stamp.seconds() / kBarriers, stamp.hz()};
    };
    take();
    add("overhead.grid_barrier", state, measure(take, probing_.rule(kShare), timer_.default_clock_hz()), remark);
  }

  Probing& probing_;
  GpuTimer timer_;
  std::unique_ptr<Event> event_;
  PinnedBuffer pinned_;
  Buffer memory_;
};

}  // namespace

void probe_overhead(Probing& probing) {
  Overheads overheads(probing);
  overheads.launches();
  probing.progress(0.35, "graphs");
  overheads.graphs();
  probing.progress(0.55, "barriers");
  overheads.barriers();
  probing.progress(0.65, "events, round trips");
  overheads.events();
  overheads.trips();
}

}  // namespace rafter::cuda
