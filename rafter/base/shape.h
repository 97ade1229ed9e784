// A shape: up to four extents, outermost first, the last one contiguous unless a Tensor's strides say otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace rafter {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents);
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return extents_[static_cast<size_t>(axis)]; }
  int64_t last() const { return rank_ == 0 ? 1 : extents_[static_cast<size_t>(rank_ - 1)]; }
  int64_t elements() const;
  // Everything before the last axis, as one count of rows.
  int64_t rows() const { return last() == 0 ? 0 : elements() / last(); }

  bool operator==(const Shape& other) const = default;
  std::string to_string() const;  // "[2, 3, 4]"

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace rafter
