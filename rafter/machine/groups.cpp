#include "rafter/machine/groups.h"

#include <algorithm>
#include <vector>

#include "rafter/base/statistics.h"

namespace rafter {

TwoGroups split_in_two(std::span<const double> values) {
  if (values.size() < 4) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double total = 0;
  for (const double v : sorted) total += v;

  // The variance between groups is largest where the one inside them is least.
  size_t cut = 1;
  double best = -1, below = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    below += sorted[i - 1];
    const auto k = static_cast<double>(i);
    const double apart = below / k - (total - below) / (n - k);
    const double between = k * (n - k) * apart * apart;
    if (between > best) best = between, cut = i;
  }
  const std::span<const double> all(sorted);
  const Statistics low = summarise(all.first(cut)), high = summarise(all.subspan(cut));
  TwoGroups groups{low.median, high.median, static_cast<double>(cut) / n, 0};
  const double apart = high.median - low.median;
  const double spread = std::max(low.iqr + high.iqr, 1e-3 * apart);  // steps of a clock have no spread at times
  groups.gap = apart > 0 ? apart / spread : 0;
  return groups;
}

}  // namespace rafter
