// Nsight Compute's metrics, by the names of its raw page and of its details page, to the fields of a KernelRecord.
//
// The same quantity has several names: by version, by chip, by page. Each field lists them, the best first; the first that
// the file has is taken.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "rafter/measure/profiles/kernel_record.h"
#include "rafter/measure/profiles/metric_unit.h"

namespace rafter {

struct MetricValue {
  double value = 0;  // in SI base units
  Dimension dimension = Dimension::count;
};
using NcuMetrics = std::unordered_map<std::string, MetricValue>;

// Whether some field can come of a metric; what is not wanted need not be kept.
bool is_wanted_metric(std::string_view name);
// Whether a metric of that name tells more than the one of the same name that is known already: the details page calls a
// rate and a percentage both "Memory Throughput".
std::string metric_key(std::string_view name, Dimension dimension);

// Sets every field that the metrics hold. A duration of zero leaves the time unknown.
void apply_metrics(const NcuMetrics& metrics, KernelRecord& kernel);

}  // namespace rafter
