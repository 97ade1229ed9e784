// What a recording comes to in a few numbers, gathered as it streams by.
#pragma once

#include <array>

#include "rafter/measure/recording/recording.h"

namespace rafter {

class RecordingSummary : public RecordingSink {
 public:
  void take_name(uint32_t, std::string_view) override {}
  void take(const RecordedEvent& event) override;

  int64_t count(RecordedKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  int64_t untimed() const { return untimed_; }  // of what ran on GPUs
  // Kernels, copies and fills added up; what ran at the same time counts each time.
  double gpu_seconds() const { return static_cast<double>(gpu_ns_) * 1e-9; }
  // CUPTI's work on the program's threads, and the recorder's own by its note: on threads of CUPTI, for the most part, so that
  // the program waits for less than this.
  double overhead_seconds(const RecordingNote& note) const {
    return static_cast<double>(overhead_ns_ + note.recorder_ns) * 1e-9;
  }

 private:
  std::array<int64_t, 7> counts_{};
  int64_t untimed_ = 0, gpu_ns_ = 0, overhead_ns_ = 0;
};

}  // namespace rafter
