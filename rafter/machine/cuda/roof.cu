#include "rafter/machine/cuda/roof.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/stopwatch.cuh"

namespace rafter::cuda {

namespace {

// Seconds: of a kernel, of the pause before a burst; of a stretch of work and the most of them before sustained samples, and of
// those samples together.
struct Lengths {
  double burst = 2e-3, sustained = 10e-3, pause = 10e-3;
  double stretch = 0.25, most_work = 3, sampled = 0.5;
};
constexpr Lengths kFull{};
constexpr Lengths kQuick{2e-3, 4e-3, 4e-3, 0.02, 0.06, 0.05};

constexpr double kSettled = 0.003;  // two stretches in a row that differ by less: power and clocks have come to rest

constexpr double kShare = 0.1;  // of a figure's usual time: kernels of milliseconds repeat well
constexpr int kMostRounds = 1 << 24;

__global__ void spin(int64_t nanoseconds) {
  const int64_t start = global_nanoseconds();
  while (global_nanoseconds() - start < nanoseconds) {
  }
}

class RoofRun {
 public:
  RoofRun(Probing& probing, GpuTimer& timer, const Roof& roof)
      : timer_(timer), roof_(roof), lengths_(probing.quick() ? kQuick : kFull), memory_(probing.device(), sizeof(Stamp)) {
    *stamp() = {};
  }

  // False where the kernel has no code for this GPU; otherwise finds how many rounds a second holds.
  bool calibrate() {
    timer_.load([&](Stream& stream) {
      rest(stream);
      roof_.launch(stream, 1, stamp());
    });
    if (stamp()->cycles == 0) return false;
    for (int rounds = 16;; rounds *= 8) {
      const double seconds = sample_seconds(rounds, true).value;
      rounds_per_second_ = rounds / seconds;
      if (seconds > 2e-4 || rounds > kMostRounds / 8) return true;
    }
  }

  Estimate burst(const StopRule& rule) {
    const int rounds = rounds_in(lengths_.burst);
    return measure([&] { return sample(rounds, true); }, rule, timer_.default_clock_hz());
  }

  // Throttling is what this measures, so no sample is thrown away for its clock.
  Estimate sustained(StopRule rule) {
    rule.least_clock = 0;
    rule.least_seconds = lengths_.sampled;
    const int rounds = rounds_in(lengths_.sustained);
    double last = 0;
    for (double worked = 0; worked < lengths_.most_work; worked += lengths_.stretch) {
      const double rate = rate_over(lengths_.stretch, rounds);
      if (std::abs(rate - last) < kSettled * last) break;
      last = rate;
    }
    return measure([&] { return sample(rounds, false); }, rule);
  }

 private:
  Stamp* stamp() const { return memory_.as<Stamp>(); }
  int rounds_in(double seconds) const {
    return static_cast<int>(std::clamp(rounds_per_second_ * seconds, 1.0, static_cast<double>(kMostRounds)));
  }

  // Kernels one after the other for so long, with no pause between them: rounds a second.
  double rate_over(double seconds, int rounds) {
    const auto start = std::chrono::steady_clock::now();
    const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    double done = 0;
    for (; spent() < seconds; done += 4.0 * rounds) {
      for (int i = 0; i < 4; ++i) roof_.launch(timer_.stream(), rounds, stamp());
      timer_.stream().synchronize();
    }
    return done / spent();
  }

  void rest(Stream& stream) const {
    const auto nanoseconds = static_cast<int64_t>(lengths_.pause * 1e9);
    rafter::cuda::launch(stream, {.grid = dim3(1), .block = dim3(1)}, spin, nanoseconds);
  }

  Sample sample_seconds(int rounds, bool pause) {
    const auto work = [&](Stream& stream) { roof_.launch(stream, rounds, stamp()); };
    const auto before = [&](Stream& stream) { rest(stream); };
    const Sample sample = timer_.time(work, pause ? GpuTimer::Work(before) : GpuTimer::Work());
    return {sample.value, stamp()->hz()};
  }
  Sample sample(int rounds, bool pause) {
    const Sample seconds = sample_seconds(rounds, pause);
    return {roof_.per_round * rounds / seconds.value, seconds.clock_hz};
  }

  GpuTimer& timer_;
  const Roof& roof_;
  Lengths lengths_;
  PinnedBuffer memory_;
  double rounds_per_second_ = 0;
};

}  // namespace

void add_roof(Probing& probing, GpuTimer& timer, const Roof& roof) {
  RoofRun run(probing, timer, roof);
  if (!run.calibrate()) return;
  probing.add({roof.name, {}, "burst", roof.unit, run.burst(probing.rule(kShare)), roof.remark});
  std::string remark = roof.remark;
  if (probing.quick()) remark += std::string(remark.empty() ? "" : "; ") + "after 0.05 s only";
  probing.add({roof.name, {}, "sustained", roof.unit, run.sustained(probing.rule(kShare)), remark});
}

}  // namespace rafter::cuda
