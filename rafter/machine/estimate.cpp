#include "rafter/machine/estimate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "rafter/base/statistics.h"

namespace rafter {

namespace {

constexpr std::array<std::string_view, 4> kSeriesNames = {"steady", "noisy", "drifting", "bimodal"};

constexpr double kNoisy = 0.05;
constexpr size_t kFewest = 9;  // samples before a shape is read into a series

double relative_spread(const Statistics& s) { return s.median != 0 ? s.iqr / std::abs(s.median) : 0; }

std::vector<double> values_of(std::span<const Sample> samples) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.value);
  return values;
}

// The sample that a part of the others lie below.
double ranked(std::span<const double> values, double part) {
  std::vector<double> ordered(values.begin(), values.end());
  std::sort(ordered.begin(), ordered.end());
  return ordered[static_cast<size_t>(std::lround(part * static_cast<double>(ordered.size() - 1)))];
}

// The middle halves of the first and the last third do not touch, and their medians are apart by more than 2%.
bool drifts(std::span<const double> values) {
  const auto first = values.first(values.size() / 3), last = values.last(values.size() / 3);
  const double before = ranked(first, 0.5), apart = std::abs(ranked(last, 0.5) - before);
  const bool parted = ranked(first, 0.75) < ranked(last, 0.25) || ranked(last, 0.75) < ranked(first, 0.25);
  return parted && apart > 0.02 * std::abs(before);
}

// The widest gap between neighbours in order leaves a fifth of the samples on either side, is wider than 2% of the
// median, and than four times what the groups spread.
bool splits(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t margin = values.size() / 5 + 1;
  size_t at = margin;
  for (size_t i = margin; i + margin <= values.size(); ++i) {
    if (values[i] - values[i - 1] > values[at] - values[at - 1]) at = i;
  }
  const std::span<const double> all(values);
  const double gap = values[at] - values[at - 1];
  const double spread = std::max(summarise(all.first(at)).iqr, summarise(all.subspan(at)).iqr);
  return gap > 0.02 * std::abs(values[values.size() / 2]) && gap > 4 * spread;
}

Series series_of(const std::vector<double>& values, const Statistics& s) {
  if (values.size() >= kFewest && drifts(values)) return Series::drifting;
  if (values.size() >= kFewest && splits(values)) return Series::bimodal;
  return relative_spread(s) > kNoisy ? Series::noisy : Series::steady;
}

bool is_throttled(const Sample& sample, const StopRule& rule, double default_clock_hz) {
  return sample.clock_hz > 0 && sample.clock_hz < rule.least_clock * default_clock_hz;
}

// Finite values, without the first `most_throttled` of those that were throttled.
std::vector<Sample> trusted(std::span<const Sample> samples, const StopRule& rule, double default_clock_hz) {
  std::vector<Sample> kept;
  int64_t discarded = 0;
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.value)) continue;
    if (is_throttled(sample, rule, default_clock_hz) && discarded < rule.most_throttled) {
      ++discarded;
    } else {
      kept.push_back(sample);
    }
  }
  return kept;
}

bool settled(std::span<const Sample> samples, const StopRule& rule) {
  const std::vector<double> values = values_of(samples);
  const double now = relative_spread(summarise(values));
  if (now < rule.spread) return true;
  const double before = relative_spread(summarise(std::span(values).first(values.size() / 2)));
  return before > 0 && std::abs(now - before) < rule.settled * before;
}

bool known(std::span<const Sample> samples, const StopRule& rule, double default_clock_hz) {
  const std::vector<Sample> kept = trusted(samples, rule, default_clock_hz);
  return static_cast<int64_t>(kept.size()) >= std::max<int64_t>(1, rule.least_samples) && settled(kept, rule);
}

// How far the median may be off, on either side.
double uncertainty(const Estimate& e) {
  const bool independent = e.series == Series::steady || e.series == Series::noisy;
  return independent && e.samples > 1 ? 1.57 * e.iqr / std::sqrt(static_cast<double>(e.samples)) : e.iqr;
}

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::string_view name(Series series) { return kSeriesNames[static_cast<size_t>(series)]; }

Series series_named(std::string_view name) {
  const auto found = std::find(kSeriesNames.begin(), kSeriesNames.end(), name);
  return found == kSeriesNames.end() ? Series::steady : static_cast<Series>(found - kSeriesNames.begin());
}

Estimate summarise_samples(std::span<const Sample> samples, const StopRule& rule, double default_clock_hz) {
  std::vector<Sample> kept = trusted(samples, rule, default_clock_hz);
  if (kept.empty()) kept = trusted(samples, rule, 0);
  const std::vector<double> values = values_of(kept);
  const Statistics s = summarise(values);
  std::vector<double> clocks;
  int64_t throttled = 0;
  for (const Sample& sample : samples) throttled += is_throttled(sample, rule, default_clock_hz) ? 1 : 0;
  for (const Sample& sample : kept) {
    if (sample.clock_hz > 0) clocks.push_back(sample.clock_hz);
  }
  return {s.median, s.iqr, s.samples, throttled, summarise(clocks).median, series_of(values, s)};
}

Estimate measure(const std::function<Sample()>& take, const StopRule& rule, double default_clock_hz,
                 const std::function<double()>& now) {
  const auto clock = now ? now : seconds_now;
  const double start = clock();
  std::vector<Sample> samples;
  auto next_look = static_cast<size_t>(std::max<int64_t>(1, rule.least_samples));
  for (double spent = 0; spent < rule.most_seconds; spent = clock() - start) {
    if (spent >= rule.least_seconds && samples.size() >= next_look) {
      if (known(samples, rule, default_clock_hz)) break;
      next_look = samples.size() + samples.size() / 8 + 1;  // to look costs a sort
    }
    samples.push_back(take());
  }
  return summarise_samples(samples, rule, default_clock_hz);
}

Verdict compare(const Estimate& a, const Estimate& b, double tolerance) {
  const double scale = std::abs(a.median);
  if (!(scale > 0)) return a.median == b.median ? Verdict::same : Verdict::unclear;
  const double apart = b.median - a.median, uncertain = std::hypot(uncertainty(a), uncertainty(b));
  if (!std::isfinite(apart) || !std::isfinite(uncertain)) return Verdict::unclear;
  if (std::abs(apart) <= tolerance * scale) return uncertain <= 2 * tolerance * scale ? Verdict::same : Verdict::unclear;
  if (std::abs(apart) <= uncertain) return Verdict::unclear;
  return apart > 0 ? Verdict::higher : Verdict::lower;
}

}  // namespace rafter
