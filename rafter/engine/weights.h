// A model's weights where a device can use them.
//
// On the CPU a matrix stays where the file is mapped, and pages are read when first touched; on a GPU it is copied once,
// through pinned memory, with reading and copying overlapped. Vectors (norms, biases) become f32 on both. Random weights
// are made on the device.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rafter/device/buffer.h"
#include "rafter/models/checkpoint.h"

namespace rafter {

using LoadProgress = std::function<void(double fraction)>;

class Weights {
 public:
  // `checkpoint` must outlive the object: on the CPU the tensors point into it.
  Weights(const Checkpoint& checkpoint, Device& device, const LoadProgress& progress = {});

  // By the names a step plan uses; an input Error where there is none.
  const Tensor& at(const std::string& name) const;
  int64_t device_bytes() const { return device_bytes_; }
  // What device_bytes() will be, from names and shapes alone.
  static int64_t device_bytes_needed(const Checkpoint& checkpoint, DeviceKind device);

 private:
  class Loader;
  std::map<std::string, Tensor> tensors_;
  std::vector<Buffer> buffers_;
  int64_t device_bytes_ = 0;
};

}  // namespace rafter
