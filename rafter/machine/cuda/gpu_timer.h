// Times work on a GPU as the GPU sees it: no launch, no host and no clock change hides in the number.
//
// The work is queued behind a kernel that spins until the host has queued all of it (so the GPU never waits for the host in
// between), between two events, and followed by a short kernel that reads the SM clock it runs at. Clocks move over
// milliseconds, so that is the clock the work ran at. What must lie in or out of the L2 cache is arranged before the first
// event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "rafter/device/buffer.h"
#include "rafter/device/device.h"
#include "rafter/machine/estimate.h"

namespace rafter::cuda {

class GpuTimer {
 public:
  explicit GpuTimer(Device& device);
  ~GpuTimer();

  Stream& stream() { return *stream_; }
  double default_clock_hz() const { return default_clock_hz_; }

  using Work = std::function<void(Stream&)>;
  // Runs work once with nothing around it. A kernel's first launch loads its code and may wait for all that runs, the kernel
  // that waits for the host included: so this must come before time().
  void load(const Work& work);
  // Seconds of the work, launches included only as far as the GPU waits for them. `before` runs first, untimed.
  Sample time(const Work& work, const Work& before = {});

  // Fills the L2 cache with clean lines of memory that no probe touches.
  void flush_l2(Stream& stream);

  // Estimates of seconds, and of `amount` a second.
  Estimate seconds(const Work& work, const StopRule& rule, const Work& before = {});
  Estimate rate(double amount, const Work& work, const StopRule& rule, const Work& before = {});
  // As rate(), with a cold L2 before each sample.
  Estimate cold_rate(double amount, const Work& work, const StopRule& rule);

 private:
  struct Gate;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, end_;
  std::unique_ptr<Gate> gate_;
  Buffer junk_;  // for flush_l2()
  double default_clock_hz_;
};

// A kernel that times a stretch of its own code writes this: two clocks of one SM, each read before and after.
struct Stamp {
  int64_t cycles = 0;       // clock64
  int64_t nanoseconds = 0;  // %globaltimer
  double hz() const { return nanoseconds > 0 ? static_cast<double>(cycles) * 1e9 / static_cast<double>(nanoseconds) : 0; }
  double seconds() const { return static_cast<double>(nanoseconds) * 1e-9; }
};

}  // namespace rafter::cuda
