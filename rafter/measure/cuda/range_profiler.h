// Hardware counters of each kernel, by CUPTI's Range Profiler: see measure/counters.h.
#pragma once

#include "rafter/measure/counters.h"

namespace rafter::cuda {

std::map<std::string, std::string> counter_metrics(const std::string& chip);
CounterRun count_kernels(int64_t most, const std::function<void()>& work);

}  // namespace rafter::cuda
