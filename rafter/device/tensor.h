// A view of numbers in some device's memory. Owns nothing: Buffers own, tensors point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rafter/base/dtype.h"
#include "rafter/base/shape.h"

namespace rafter {

enum class DeviceKind : uint8_t { cpu, cuda };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const DeviceId&) const = default;
};

// Rows are contiguous; consecutive rows are `row_stride` bytes apart, so a view may be a slice of columns.
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  int64_t row_stride = 0;  // bytes from one row (last axis) to the next
  void* data = nullptr;
  DeviceId device;

  static Tensor contiguous(DType dtype, const Shape& shape, void* data, DeviceId device = {}) {
    return {dtype, shape, row_bytes(dtype, shape.last()), data, device};
  }

  // An optional operand that is not there has rank 0.
  bool present() const { return shape.rank() > 0; }
  bool is_contiguous() const { return row_stride == row_bytes(dtype, shape.last()); }
  int64_t bytes() const { return shape.rows() * row_bytes(dtype, shape.last()); }

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <typename T = std::byte>
  T* row(int64_t index) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data) + index * row_stride);
  }
};

}  // namespace rafter
