// A quantity measured until it is known: when to stop, which samples to trust, and what the series looks like.
//
// One number hides how it came about. An Estimate says besides how far its samples spread, how many there are and how
// many were thrown away, at which clock they were taken, and whether they drift or fall into two groups.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

// One measurement of a quantity in its own unit (seconds, B/s, FLOP/s).
struct Sample {
  double value = 0;
  double clock_hz = 0;  // of the SMs while it was taken; 0 where unknown
};

enum class Series : uint8_t {
  steady,
  noisy,     // the middle half spreads over more than 5% of the median
  drifting,  // the last third lies clearly above or below the first
  bimodal,   // two groups with a gap between them, neither of them rare
};
std::string_view name(Series series);
Series series_named(std::string_view name);  // steady where the name is unknown

struct Estimate {
  double median = 0, iqr = 0;
  int64_t samples = 0;
  int64_t throttled =
      0;  // samples taken under StopRule::least_clock of the default clock; the rule says how many were thrown away
  double clock_hz = 0;  // median over the samples; 0 where unknown
  Series series = Series::steady;
};

// When enough has been measured: at least `least_samples` over `least_seconds`, and a relative spread (IQR over median)
// under `spread`, or one that has itself settled: it changed by less than `settled` over the last half of the samples.
// At `most_seconds` it ends whatever the spread, and the estimate says so by its series.
struct StopRule {
  int64_t least_samples = 10;
  double least_seconds = 0.5, most_seconds = 15;
  double spread = 0.005, settled = 0.05;
  double least_clock = 0.75;     // of the default clock; a sample below is discarded and taken again
  int64_t most_throttled = 100;  // so many are discarded; what comes then is kept as it comes
};

// What a series of samples, in the order they were taken, says. `default_clock_hz` is the clock that the device runs at when
// nothing holds it back; 0 where unknown, and nothing is discarded then. Where nothing but throttled samples was taken they are
// what there is, and are kept. A value that is not finite (an amount over no time) is never counted.
Estimate summarise_samples(std::span<const Sample> samples, const StopRule& rule, double default_clock_hz = 0);

// Calls `take` until the rule is met. `now` gives seconds of a steady clock, for tests to replace.
Estimate measure(const std::function<Sample()>& take, const StopRule& rule, double default_clock_hz = 0,
                 const std::function<double()>& now = {});

enum class Verdict : uint8_t { same, higher, lower, unclear };

// Whether b lies above or below a. Each median is known to within 1.57 IQR / sqrt(samples), the notch of a box plot (McGill,
// Tukey and Larsen, 1978), or only to within its IQR where the samples drift or fall in two groups; their difference to within
// both, added as squares. `same` where the medians are closer than `tolerance` (relative) and that uncertainty is no more than
// twice as wide; `higher` and `lower` where they are further apart than both; else `unclear`.
Verdict compare(const Estimate& a, const Estimate& b, double tolerance);

}  // namespace rafter
