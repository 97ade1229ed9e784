// Records what this process does on a GPU, by CUPTI, into a RecordingSink.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rafter/device/tensor.h"
#include "rafter/measure/recording/recording.h"

namespace rafter {

class Recorder {
 public:
  virtual ~Recorder() = default;
  // From here to stop(), kernels, copies and fills go to `sink`, all of them by the time stop() returns.
  virtual void start(RecordingSink& sink) = 0;
  virtual void stop() = 0;
  // What is launched on this thread between the two has that number as its tag; they nest.
  virtual void push_tag(uint64_t tag) = 0;
  virtual void pop_tag() = 0;
};

// Null, and why with the remedy in `why_not`, where there is nothing to record with: the CPU, no CUPTI, another profiler.
std::unique_ptr<Recorder> make_recorder(DeviceId device, std::string& why_not);

}  // namespace rafter
