// A GPU's activities in the order of time: how long each stream stood still before each kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "rafter/measure/profiles/kernel_record.h"

namespace rafter {

struct Activity {
  int64_t device = 0, stream = 0;
  double start = 0, end = 0;  // seconds
  int64_t kernel = -1;        // its index; -1 for a copy or a fill
};

// Sets gap_seconds of kernels: the time since all that came before it on its stream had ended, 0 where they overlap. Puts
// `kernels` in the order of their starts; those that are in no activity (not timed) come last.
void place_on_timeline(std::vector<KernelRecord>& kernels, std::vector<Activity> activities);

}  // namespace rafter
