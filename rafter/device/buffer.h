// Device memory with an owner.
#pragma once

#include <cstdint>
#include <utility>

#include "rafter/device/allocator.h"
#include "rafter/device/device.h"

namespace rafter {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, int64_t bytes) : device_(&device), data_(device.allocator().allocate(bytes)), bytes_(bytes) {}
  ~Buffer() {
    if (data_ != nullptr) device_->allocator().free(data_);
  }
  Buffer(Buffer&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Tensor tensor(DType dtype, const Shape& shape) const { return Tensor::contiguous(dtype, shape, data_, device_->id()); }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Host memory that a device copies from and to without staging.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(Device& device, int64_t bytes) : device_(&device), data_(device.allocate_pinned(bytes)) {}
  ~PinnedBuffer() {
    if (data_ != nullptr) device_->free_pinned(data_);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace rafter
