#include "rafter/measure/profiles/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rafter {

void place_on_timeline(std::vector<KernelRecord>& kernels, std::vector<Activity> activities) {
  std::stable_sort(activities.begin(), activities.end(),
                   [](const Activity& a, const Activity& b) { return a.start < b.start; });
  std::map<std::pair<int64_t, int64_t>, double> busy_until;
  std::vector<KernelRecord> ordered;
  std::vector<bool> moved(kernels.size(), false);
  ordered.reserve(kernels.size());
  for (const Activity& activity : activities) {
    const auto [last, is_first] = busy_until.try_emplace({activity.device, activity.stream}, activity.end);
    if (activity.kernel >= 0) {
      KernelRecord& kernel = kernels[static_cast<size_t>(activity.kernel)];
      if (!is_first) kernel.gap_seconds = std::max(0.0, activity.start - last->second);
      ordered.push_back(std::move(kernel));
      moved[static_cast<size_t>(activity.kernel)] = true;
    }
    last->second = std::max(last->second, activity.end);
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!moved[i]) ordered.push_back(std::move(kernels[i]));
  }
  kernels = std::move(ordered);
}

}  // namespace rafter
