// The little that is needed of each GPU activity of a long recording to see where its steps are: 24 bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "rafter/measure/recording/recording.h"

namespace rafter {

struct LoggedLaunch {
  int64_t start_ns = 0;
  uint32_t duration_ns = 0;  // 4.29 s where it was longer
  uint32_t likeness = 0;     // a hash of name, grid, block and graph node
  uint32_t correlation = 0;
  uint16_t name = 0;       // the lower bits of its number: names that share them are taken for one
  uint16_t lane : 15 = 0;  // which of LaunchLog::lanes
  uint16_t in_graph : 1 = 0;

  int64_t end_ns() const { return start_ns + duration_ns; }
};
static_assert(sizeof(LoggedLaunch) == 24);

// A stream of a GPU.
struct LaunchLane {
  int32_t device = -1;
  uint32_t context = 0, stream = 0;
  int64_t busy_ns = 0;  // durations added up
  size_t launches = 0;
};

class LaunchLog {
 public:
  void take(const RecordedEvent& event);  // of a GPU; those that were not timed are only counted
  void sort();                            // by start

  const std::deque<LoggedLaunch>& launches() const { return launches_; }  // 10 million of them: 240 MB
  const std::vector<LaunchLane>& lanes() const { return lanes_; }
  int64_t untimed() const { return untimed_; }

 private:
  uint16_t lane_of(const RecordedEvent& event);

  std::deque<LoggedLaunch> launches_;  // grows without a copy
  std::vector<LaunchLane> lanes_;
  std::unordered_map<uint64_t, uint16_t> lane_numbers_;
  int64_t untimed_ = 0;
};

}  // namespace rafter
