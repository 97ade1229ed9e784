// Records what this process does on its GPUs, by way of CUPTI: kernels, graph nodes among them, copies and fills, and where it
// is asked to, calls, waits, NVTX ranges and the recorder's own overhead.
//
// CUPTI hands over buffers of records on a thread of its own, in no order; they are decoded there and given to the sink, one at
// a time. A process has room for one recorder: CUPTI knows one subscriber, and its callbacks carry no pointer of ours.
#pragma once

#include <cstdint>
#include <memory>

#include "rafter/measure/recording/recording.h"

namespace rafter::cuda {

// What to record besides kernels, copies and fills.
struct RecorderOptions {
  bool calls = false;     // of the CUDA runtime and driver
  bool waits = false;     // synchronisations, on the host
  bool ranges = false;    // NVTX; needs NVTX_INJECTION64_PATH in the environment before the first range
  bool overhead = false;  // what CUPTI itself took
  bool tags = false;      // push_tag: makes CUPTI see every call, told or not
};

class ActivityRecorder {
 public:
  // The sink must outlive the recorder. It is called from CUPTI's threads, by one at a time.
  explicit ActivityRecorder(RecordingSink& sink, const RecorderOptions& options = {});
  ~ActivityRecorder();  // stops
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  // A runtime Error where there is no CUPTI, or one too old, or where another profiler or recorder holds it. CUDA may be
  // initialised before or after. What was launched earlier may be recorded as well: wait for the device before.
  void start();
  // Every record of work that has ended has reached the sink when this returns: wait for the device before. Numbers of names
  // go on counting when it is started again.
  void stop();
  // Hands over the buffers in which all work has ended.
  void flush();

  // What this thread launches until pop_tag carries the innermost tag; a graph launch gives its tag to all its nodes. With
  // options.tags only, between start() and stop(). Since a tag may come after the kernel that it belongs to, all that ran on
  // the GPU is then held back and told in stop().
  void push_tag(uint64_t tag);
  void pop_tag();

  // Of this recording so far: times, events that were lost, the first GPU, this process.
  RecordingNote note() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rafter::cuda
