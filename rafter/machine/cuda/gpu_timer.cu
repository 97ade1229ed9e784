// The gate and the clock reader around timed work; see gpu_timer.h.
#include "rafter/machine/cuda/gpu_timer.h"

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/stopwatch.cuh"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int64_t kLongestWait = 2'000'000'000;  // ns; a host that dies must not hang the GPU
constexpr int64_t kClockSpin = 20'000;           // ns; %globaltimer counts in steps of 32 ns on Hopper

__global__ void wait_for_host(const volatile int* open) {
  const int64_t start = global_nanoseconds();
  while (*open == 0 && global_nanoseconds() - start < kLongestWait) {
  }
}

__global__ void read_clock(Stamp* out) {
  const Stopwatch watch;
  Stamp stamp;
  do stamp = watch.read();
  while (stamp.nanoseconds < kClockSpin);
  *out = stamp;
}

constexpr int kSlice = 4096;  // uint4 a block takes at a time: 64 KiB

// A slice is swept `sweeps` times before the next. L2 on Hopper keeps lines that were used again and lets a stream of new ones
// pass by, so that reading other memory once evicts little: what is read twice counts as used again.
__global__ void read_slices(const uint4* data, int64_t count, int sweeps, uint4* out) {
  uint4 sum{};
  for (int64_t slice = blockIdx.x * int64_t{kSlice}; slice < count; slice += gridDim.x * int64_t{kSlice}) {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (int64_t i = slice + threadIdx.x; i < min(slice + kSlice, count); i += blockDim.x)
        sum = mix(sum, load_once(data + i));
    }
  }
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) *out = sum;
}

__global__ void overwrite(uint4* data, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const uint4 old = data[i];
    data[i] = make_uint4(old.y, old.z, old.w, old.x);
  }
}

}  // namespace

// Host memory that the GPU reads: the flag, and the clock that was read.
struct GpuTimer::Gate {
  explicit Gate(Device& device) : device(device) {
    memory = device.allocate_pinned(sizeof(int) + sizeof(Stamp) + 64);
    open = static_cast<volatile int*>(memory);
    clock = reinterpret_cast<Stamp*>(static_cast<char*>(memory) + 64);
  }
  ~Gate() { device.free_pinned(memory); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  Device& device;
  void* memory;
  volatile int* open;
  Stamp* clock;
};

GpuTimer::GpuTimer(Device& device)
    : stream_(device.make_stream()),
      start_(stream_->make_event()),
      end_(stream_->make_event()),
      gate_(std::make_unique<Gate>(device)),
      junk_(device, 5 * device.info().l2_bytes),
      default_clock_hz_(device.info().clock_hz) {
  fill_random(*stream_, junk_);
  // CUDA loads a kernel's code at its first launch, which may wait for all that runs: not for a closed gate.
  *gate_->open = 1;
  launch(*stream_, {.grid = dim3(1), .block = dim3(1)}, wait_for_host, static_cast<const volatile int*>(gate_->open));
  launch(*stream_, {.grid = dim3(1), .block = dim3(1)}, read_clock, gate_->clock);
  stream_->synchronize();
}

GpuTimer::~GpuTimer() = default;

Sample GpuTimer::time(const Work& work, const Work& before) {
  if (before) before(*stream_);
  *gate_->open = 0;
  launch(*stream_, {.grid = dim3(1), .block = dim3(1)}, wait_for_host, static_cast<const volatile int*>(gate_->open));
  stream_->record(*start_);
  work(*stream_);
  stream_->record(*end_);
  launch(*stream_, {.grid = dim3(1), .block = dim3(1)}, read_clock, gate_->clock);
  *gate_->open = 1;
  stream_->synchronize();
  return {end_->seconds_since(*start_), gate_->clock->hz()};
}

// The first half is rewritten, which evicts all there was, and the second is read, which evicts what was written: lines that
// are still to be written back would slow down what comes next.
void GpuTimer::flush_l2(Stream& stream) {
  auto* const junk = static_cast<uint4*>(junk_.data());
  const int64_t half = junk_.bytes() / static_cast<int64_t>(sizeof(uint4)) / 2;
  const LaunchShape shape{.grid = dim3(1024), .block = dim3(256)};
  launch(stream, shape, overwrite, junk, half);
  launch(stream, shape, read_slices, static_cast<const uint4*>(junk + half), half, 2, junk);
}

void GpuTimer::load(const Work& work) {
  work(*stream_);
  stream_->synchronize();
}

Estimate GpuTimer::seconds(const Work& work, const StopRule& rule, const Work& before) {
  load(work);
  time(work, before);  // the first run fills TLBs
  return measure([&] { return time(work, before); }, rule, default_clock_hz_);
}

Estimate GpuTimer::rate(double amount, const Work& work, const StopRule& rule, const Work& before) {
  load(work);
  time(work, before);
  const auto take = [&] {
    const Sample sample = time(work, before);
    return Sample{amount / sample.value, sample.clock_hz};
  };
  return measure(take, rule, default_clock_hz_);
}

Estimate GpuTimer::cold_rate(double amount, const Work& work, const StopRule& rule) {
  return rate(amount, work, rule, [this](Stream& stream) { flush_l2(stream); });
}

}  // namespace rafter::cuda
