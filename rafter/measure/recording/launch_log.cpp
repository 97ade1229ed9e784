#include "rafter/measure/recording/launch_log.h"

#include <algorithm>
#include <limits>

namespace rafter {

namespace {

constexpr size_t kMostLanes = size_t{1} << 15;

void mix(uint64_t& hash, uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL, hash ^= hash >> 29; }

uint32_t likeness_of(const RecordedEvent& event) {
  uint64_t hash = static_cast<uint64_t>(event.kind) + 1;
  mix(hash, event.name);
  for (const int32_t extent : event.grid) mix(hash, static_cast<uint32_t>(extent));
  for (const int32_t extent : event.block) mix(hash, static_cast<uint32_t>(extent));
  mix(hash, event.graph_node);
  mix(hash, event.copy_kind);
  return static_cast<uint32_t>(hash >> 32);
}

// Copies and fills have no name of their own: they are named by what they are, from the far end of the numbers.
uint16_t name_of(const RecordedEvent& event) {
  if (event.kind == RecordedKind::kernel) return static_cast<uint16_t>(event.name);
  return static_cast<uint16_t>(0xFFFF - (event.kind == RecordedKind::copy ? 1 + event.copy_kind : 0));
}

}  // namespace

uint16_t LaunchLog::lane_of(const RecordedEvent& event) {
  uint64_t key = static_cast<uint32_t>(event.device);
  mix(key, event.context);
  mix(key, event.stream);
  const auto known = lane_numbers_.find(key);
  if (known != lane_numbers_.end()) return known->second;
  const auto number = static_cast<uint16_t>(std::min(lanes_.size(), kMostLanes - 1));
  if (number == lanes_.size()) lanes_.push_back({event.device, event.context, event.stream, 0, 0});
  lane_numbers_.emplace(key, number);
  return number;
}

void LaunchLog::take(const RecordedEvent& event) {
  if (!event.timed()) {
    ++untimed_;
    return;
  }
  LoggedLaunch launch;
  launch.start_ns = event.start_ns;
  launch.duration_ns =
      static_cast<uint32_t>(std::min<int64_t>(event.end_ns - event.start_ns, std::numeric_limits<uint32_t>::max()));
  launch.likeness = likeness_of(event);
  launch.correlation = event.correlation;
  launch.name = name_of(event);
  launch.lane = lane_of(event) & 0x7FFF;
  launch.in_graph = event.graph_node != 0;
  lanes_[launch.lane].busy_ns += event.end_ns - event.start_ns;
  ++lanes_[launch.lane].launches;
  launches_.push_back(launch);
}

void LaunchLog::sort() {
  std::sort(launches_.begin(), launches_.end(),
            [](const LoggedLaunch& a, const LoggedLaunch& b) { return a.start_ns < b.start_ns; });
}

}  // namespace rafter
