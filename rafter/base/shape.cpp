#include "rafter/base/shape.h"

#include <fmt/ranges.h>

#include "rafter/base/error.h"

namespace rafter {

Shape::Shape(std::initializer_list<int64_t> extents) : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  if (rank_ > kMaxRank) throw input_error({"the rank of a shape", std::to_string(rank_), "4 or less"});
  int axis = 0;
  for (const int64_t extent : extents) extents_[static_cast<size_t>(axis++)] = extent;
}

int64_t Shape::elements() const {
  int64_t count = 1;
  for (int axis = 0; axis < rank_; ++axis) count *= extents_[static_cast<size_t>(axis)];
  return count;
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(extents_.begin(), extents_.begin() + rank_, ", "));
}

}  // namespace rafter
