#include "rafter/measure/recording/recording_summary.h"

namespace rafter {

void RecordingSummary::take(const RecordedEvent& event) {
  ++counts_[static_cast<size_t>(event.kind)];
  if (!event.timed()) {
    untimed_ += event.on_gpu() ? 1 : 0;
    return;
  }
  const int64_t duration = event.end_ns - event.start_ns;
  if (event.on_gpu()) gpu_ns_ += duration;
  if (event.kind == RecordedKind::overhead) overhead_ns_ += duration;
}

}  // namespace rafter
