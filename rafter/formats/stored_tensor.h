// A tensor as a file holds it: a name, a type, a shape and where its bytes lie in the mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "rafter/base/dtype.h"
#include "rafter/base/shape.h"

namespace rafter {

struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;                      // outermost axis first, whatever order the file uses
  const std::byte* data = nullptr;  // into the mapped file; aligned only as the file is
  int64_t bytes = 0;
};

}  // namespace rafter
