// Records what this process does on a GPU, by CUPTI, into a RecordingSink.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "rafter/device/tensor.h"
#include "rafter/measure/recording/recording.h"

namespace rafter {

// Calls `work`, which waits for all that it launches: kernels, copies and fills are in the sink when this returns. Empty, or
// why nothing could be recorded and the remedy (the CPU, no CUPTI, another profiler); `work` is not called then.
std::string record_gpu(DeviceId device, RecordingSink& sink, const std::function<void()>& work);

// The same, with what is launched between begin(n) and end() tagged n.
class LaunchTags {
 public:
  virtual ~LaunchTags() = default;
  virtual void begin(uint64_t tag) = 0;
  virtual void end() = 0;
};
std::string record_gpu_tagged(DeviceId device, RecordingSink& sink, const std::function<void(LaunchTags&)>& work);

}  // namespace rafter
