// Slopes over a sliding window find the plateaus, walking outwards finds where they end; see knees.h.
#include "rafter/machine/knees.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "rafter/base/statistics.h"
#include "rafter/base/units.h"

namespace rafter {

namespace {

constexpr double kLeastNoise = 0.002, kLeastTolerance = 0.03;

struct LogPoint {
  double u = 0, v = 0;  // ln x, ln y
};
using LogCurve = std::vector<LogPoint>;

LogCurve log_curve(std::span<const KneePoint> curve) {
  LogCurve points;
  for (const KneePoint& p : curve) {
    if (p.x > 0 && p.y > 0 && std::isfinite(p.x) && std::isfinite(p.y)) points.push_back({std::log(p.x), std::log(p.y)});
  }
  std::sort(points.begin(), points.end(), [](const LogPoint& a, const LogPoint& b) { return a.u < b.u; });
  return points;
}

double median(std::vector<double> values) { return summarise(values).median; }

// From how far each point lies off the middle of its neighbours, which no trend moves.
double noise_of(const LogCurve& c) {
  std::vector<double> off;
  for (size_t i = 1; i + 1 < c.size(); ++i) off.push_back(std::abs(c[i].v - (c[i - 1].v + c[i + 1].v) / 2));
  return std::max(kLeastNoise, 1.4826 * median(std::move(off)) / std::sqrt(1.5));
}

double tolerance(double noise) { return std::max(3 * noise, kLeastTolerance); }

struct Range {
  size_t first = 0, last = 0;  // both in it
  size_t size() const { return last - first + 1; }
};

// The points within half a window of point i; near an end of the curve the window is moved, and where points are few widened.
Range window_at(const LogCurve& c, size_t i, const KneeRule& rule) {
  const double width = std::log(rule.window);
  const double left = std::clamp(c[i].u - width / 2, c.front().u, std::max(c.front().u, c.back().u - width));
  const auto before = [](const LogPoint& p, double u) { return p.u < u; };
  constexpr double kRounding = 1e-9;
  Range w;
  w.first = static_cast<size_t>(std::lower_bound(c.begin(), c.end(), left - kRounding, before) - c.begin());
  const auto end = std::lower_bound(c.begin(), c.end(), left + width + kRounding, before) - c.begin();
  w.last = std::max(static_cast<size_t>(end), w.first + 1) - 1;
  while (w.size() < static_cast<size_t>(rule.window_points) && w.size() < c.size()) {
    const bool grow_left = w.last + 1 == c.size() || (w.first > 0 && i - w.first < w.last - i);
    grow_left ? --w.first : ++w.last;
  }
  return w;
}

// Theil and Sen: the median of the slopes of all pairs; up to a quarter of wild points does not move it.
double slope(const LogCurve& c, const Range& w) {
  std::vector<double> slopes;
  for (size_t i = w.first; i <= w.last; ++i) {
    for (size_t j = i + 1; j <= w.last; ++j) {
      if (c[j].u > c[i].u) slopes.push_back((c[j].v - c[i].v) / (c[j].u - c[i].u));
    }
  }
  return median(std::move(slopes));
}

double level(const LogCurve& c, const Range& r) {
  std::vector<double> values;
  for (size_t i = r.first; i <= r.last; ++i) values.push_back(c[i].v);
  return median(std::move(values));
}

// The part of a range within a window of its right or left end: a plateau may drift along its length.
Range tail(const LogCurve& c, Range r, const KneeRule& rule) {
  const size_t least = static_cast<size_t>(rule.window_points);
  Range t = r;
  while (t.size() > least && c[r.last].u - c[t.first].u > std::log(rule.window)) ++t.first;
  return t;
}
Range head(const LogCurve& c, Range r, const KneeRule& rule) {
  const size_t least = static_cast<size_t>(rule.window_points);
  Range t = r;
  while (t.size() > least && c[t.last].u - c[r.first].u > std::log(rule.window)) --t.last;
  return t;
}

// Walks from the ends outwards, or from where an end already left the level, until two points in a row lie off it.
Range extended(const LogCurve& c, Range r, const KneeRule& rule, double tol) {
  const auto fits = [&](size_t i, double at) { return std::abs(c[i].v - at) <= tol; };
  Range e = r;
  const Range right = tail(c, r, rule), left = head(c, r, rule);
  const double at_right = level(c, right), at_left = level(c, left);
  e.last = right.first;
  for (size_t i = right.first, off = 0; i < c.size() && off < 2; ++i) fits(i, at_right) ? (e.last = i, off = 0) : ++off;
  e.first = left.last;
  for (size_t i = left.last + 1, off = 0; i > 0 && off < 2; --i) fits(i - 1, at_left) ? (e.first = i - 1, off = 0) : ++off;
  return e;
}

std::vector<Range> flat_runs(const LogCurve& c, const KneeRule& rule) {
  std::vector<Range> runs;
  for (size_t i = 0; i < c.size(); ++i) {
    if (std::abs(slope(c, window_at(c, i, rule))) >= rule.flat) continue;
    if (!runs.empty() && runs.back().last + 1 == i)
      runs.back().last = i;
    else
      runs.push_back({i, i});
  }
  return runs;
}

std::vector<Range> plateau_ranges(const LogCurve& c, const KneeRule& rule) {
  if (c.size() < 2 * static_cast<size_t>(rule.window_points)) return {};
  const double tol = tolerance(noise_of(c));
  std::vector<Range> plateaus;
  for (const Range& run : flat_runs(c, rule)) {
    const Range wide = extended(c, run, rule, tol);
    if (wide.last < wide.first || wide.size() < static_cast<size_t>(rule.window_points)) continue;
    if (c[wide.last].u - c[wide.first].u < 0.6 * std::log(rule.window)) continue;
    if (!plateaus.empty()) {
      Range& before = plateaus.back();
      const double change = level(c, head(c, wide, rule)) - level(c, tail(c, before, rule));
      if (wide.first <= before.last || std::abs(change) < std::log1p(rule.least_change)) {
        before.last = std::max(before.last, wide.last);
        continue;
      }
    }
    plateaus.push_back(wide);
  }
  return plateaus;
}

Plateau as_plateau(const LogCurve& c, const Range& r) {
  return {std::exp(c[r.first].u), std::exp(c[r.last].u), std::exp(level(c, r)), static_cast<int>(r.size())};
}

// With a share of C / x hits the mean time is a line over 1 / x. Fitted to the first part of the rise (times `low` to `high`,
// within a doubling of x after point `last`), it meets the plateau's time at C.
std::optional<double> where_rise_starts(const LogCurve& c, size_t last, double plateau, double low, double high) {
  double n = 0, sum_p = 0, sum_t = 0, sum_pp = 0, sum_pt = 0;
  for (size_t i = last + 1; i < c.size() && std::exp(c[i].v) <= high; ++i) {
    const double p = std::exp(c[last].u - c[i].u), t = std::exp(c[i].v);
    if (p < 0.5) break;
    if (t < low) continue;
    n += 1, sum_p += p, sum_t += t, sum_pp += p * p, sum_pt += p * t;
  }
  const double spread = n * sum_pp - sum_p * sum_p;
  if (n < 3 || !(spread > 0)) return {};
  const double line = (n * sum_pt - sum_p * sum_t) / spread;
  if (!(line < 0)) return {};
  const double p = (plateau - (sum_t - line * sum_p) / n) / line;
  return p > 0 ? std::optional(std::exp(c[last].u) / p) : std::nullopt;
}

// `c` holds times here: a bandwidth was turned over.
std::optional<Knee> knee_after(const LogCurve& c, const Range& plateau, const Range* next, const KneeRule& rule) {
  const size_t n = c.size();
  const double noise = noise_of(c), tol = tolerance(noise);
  const double before = level(c, tail(c, plateau, rule));
  if (plateau.last + 3 > n) return {};
  const double after = level(c, next != nullptr ? head(c, *next, rule) : Range{n - 3, n - 1});
  const double change = after - before;
  if (change < std::max(std::log1p(rule.least_change), 4 * noise)) return {};

  const double clear = before + std::max(tol, change / 4);
  size_t beyond = plateau.last + 1;
  while (beyond + 1 < n && !(c[beyond].v > clear && c[beyond + 1].v > clear)) ++beyond;

  Knee knee;
  knee.inside = std::exp(c[plateau.last].u);
  knee.beyond = std::exp(c[beyond].u);
  const double t0 = std::exp(before), rise = std::exp(after) - t0;
  const double fitted = where_rise_starts(c, plateau.last, t0, std::exp(before + tol), t0 + 0.6 * rise).value_or(0);
  const double lowest = knee.inside / std::sqrt(rule.window);
  knee.x = fitted >= lowest && fitted <= knee.beyond ? fitted : std::sqrt(knee.inside * knee.beyond);
  knee.before = as_plateau(c, plateau);
  knee.after = std::exp(after);
  knee.settles = next != nullptr;
  knee.sure = std::min(1.0, change / (8 * std::max(noise, 0.01))) *
              std::min(1.0, knee.before.points / (2.0 * rule.window_points)) * (knee.settles ? 1 : 0.5);
  return knee;
}

}  // namespace

double curve_noise(std::span<const KneePoint> curve) { return noise_of(log_curve(curve)); }

std::vector<Plateau> find_plateaus(std::span<const KneePoint> curve, const KneeRule& rule) {
  const LogCurve c = log_curve(curve);
  std::vector<Plateau> plateaus;
  for (const Range& range : plateau_ranges(c, rule)) plateaus.push_back(as_plateau(c, range));
  return plateaus;
}

std::vector<Knee> find_knees(std::span<const KneePoint> curve, Worse worse, const KneeRule& rule) {
  LogCurve c = log_curve(curve);
  if (worse == Worse::lower) {
    for (LogPoint& p : c) p.v = -p.v;
  }
  const std::vector<Range> ranges = plateau_ranges(c, rule);
  std::vector<Knee> knees;
  for (size_t i = 0; i < ranges.size(); ++i) {
    std::optional<Knee> knee = knee_after(c, ranges[i], i + 1 < ranges.size() ? &ranges[i + 1] : nullptr, rule);
    if (!knee) continue;
    if (worse == Worse::lower) knee->before.y = 1 / knee->before.y, knee->after = 1 / knee->after;
    knees.push_back(*knee);
  }
  return knees;
}

std::string describe(const Knee& knee, const std::string& unit) {
  const auto text = [&](double y) { return unit == "s" ? format_seconds(y) : format_si(y, unit.c_str()); };
  return fmt::format("{} up to {}, {} {}; surely left at {}; {} points before it, sure {:.2f}", text(knee.before.y),
                     format_capacity(static_cast<int64_t>(knee.inside)), text(knee.after),
                     knee.settles ? "on the next plateau" : "where the curve ends",
                     format_capacity(static_cast<int64_t>(knee.beyond)), knee.before.points, knee.sure);
}

}  // namespace rafter
