#include "rafter/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rafter {

namespace {

double quantile(const std::vector<double>& ordered, double q) {
  const double at = q * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, ordered.size() - 1);
  return std::lerp(ordered[below], ordered[above], at - std::floor(at));
}

}  // namespace

Statistics summarise(std::span<const double> samples) {
  Statistics result;
  if (samples.empty()) return result;
  std::vector<double> ordered(samples.begin(), samples.end());
  std::sort(ordered.begin(), ordered.end());
  const auto n = static_cast<double>(ordered.size());
  result.samples = static_cast<int64_t>(ordered.size());
  result.median = quantile(ordered, 0.5);
  result.iqr = quantile(ordered, 0.75) - quantile(ordered, 0.25);
  result.min = ordered.front();
  result.max = ordered.back();
  for (const double value : ordered) result.mean += value / n;
  double squares = 0;
  for (const double value : ordered) squares += (value - result.mean) * (value - result.mean);
  if (ordered.size() > 1) result.sigma = std::sqrt(squares / (n - 1));
  return result;
}

std::vector<size_t> middle_half(std::span<const double> samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return samples[a] < samples[b]; });
  const auto quarter = static_cast<ptrdiff_t>(samples.size() / 4);
  return {order.begin() + quarter, order.end() - quarter};
}

}  // namespace rafter
