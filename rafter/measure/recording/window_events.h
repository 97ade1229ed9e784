// All that happened within the steps of a window: the second reading of a recording, once StepFinder has told where to look.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "rafter/measure/recording/recording.h"
#include "rafter/measure/recording/steps.h"

namespace rafter {

// "copy host to device", "fill", or the name as the recording has it.
std::string activity_name(const RecordedEvent& event, const std::vector<std::string>& names);

// Keeps whole events, some 140 bytes each: of the window's GPU from its first step to its last, and of the host from about as
// long before, since calls come before what they launch.
class WindowEvents : public RecordingSink {
 public:
  // More activities are only counted: a recording in which nothing repeats is one step of any length.
  static constexpr size_t kMost = 2000000;

  explicit WindowEvents(StepWindow window);

  void take_name(uint32_t number, std::string_view text) override;
  void take(const RecordedEvent& event) override;
  void finish();  // once, after the last event: puts all in the order of time

  const StepWindow& window() const { return window_; }
  const std::vector<RecordedEvent>& gpu() const { return gpu_; }      // by start, then end
  const std::vector<RecordedEvent>& calls() const { return calls_; }  // of the CUDA runtime and driver
  const std::vector<RecordedEvent>& waits() const { return waits_; }
  const std::vector<RecordedEvent>& ranges() const { return ranges_; }
  std::string name_of(const RecordedEvent& event) const { return activity_name(event, names_); }
  // The call that launched it; null where it was not recorded.
  const RecordedEvent* launch_of(const RecordedEvent& activity) const;

  int64_t left_out() const { return left_out_; }            // activities beyond kMost
  int64_t other_devices() const { return other_devices_; }  // activities of other GPUs meanwhile

 private:
  StepWindow window_;
  int64_t begin_ns_ = 0, end_ns_ = 0, lead_ns_ = 0;
  std::vector<RecordedEvent> gpu_, calls_, waits_, ranges_;
  std::unordered_map<uint32_t, size_t> launches_;  // by correlation, the place in calls_
  std::vector<std::string> names_;
  int64_t left_out_ = 0, other_devices_ = 0;
};

}  // namespace rafter
