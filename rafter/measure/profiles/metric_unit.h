// Units as profilers write them ("nsecond", "Gbyte/s", "cycle/usecond", "register/thread", "%"), brought to SI base units.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rafter {

enum class Dimension : uint8_t { count, seconds, bytes, bytes_per_second, hertz, percent, other };

struct MetricUnit {
  Dimension dimension = Dimension::count;
  double scale = 1;  // a value times this is in s, B, B/s, Hz or percent
};

// An empty unit is a count. Nothing for a word that is no unit known here.
std::optional<MetricUnit> parse_metric_unit(std::string_view unit);

}  // namespace rafter
