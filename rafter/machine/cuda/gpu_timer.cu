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

// Lines that are read leave clean: what evicts them later pays for no write-back.
__global__ void read_all(const uint4* data, int64_t count, uint4* out) {
  uint4 sum{};
  for_groups<4>(count, [&](int64_t i, bool full) {
    uint4 v[4];
    load_group(v, data, i, count, full);
    for (const uint4& each : v) sum = mix(sum, each);
  });
  if (sum.x == 0x12345678u && sum.y == 0x9abcdef0u) *out = sum;
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
      junk_(device, 3 * device.info().l2_bytes),
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

void GpuTimer::flush_l2(Stream& stream) {
  auto* const junk = static_cast<uint4*>(junk_.data());
  const int64_t count = junk_.bytes() / static_cast<int64_t>(sizeof(uint4));
  launch(stream, {.grid = dim3(1024), .block = dim3(256)}, read_all, static_cast<const uint4*>(junk), count, junk);
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
