#include "rafter/ops/reference.h"

#include "rafter/ops/block_formats.h"

namespace rafter {

Doubles to_doubles(const Tensor& tensor) {
  const int64_t width = tensor.shape.last();
  std::vector<float> row(static_cast<size_t>(width));
  Doubles values;
  values.reserve(static_cast<size_t>(tensor.shape.elements()));
  for (int64_t r = 0; r < tensor.shape.rows(); ++r) {
    if (tensor.dtype == DType::i32) {  // exact beyond 2^24, where a float is not
      for (int64_t i = 0; i < width; ++i) values.push_back(tensor.row<int32_t>(r)[i]);
      continue;
    }
    decode_row(tensor.dtype, tensor.row(r), width, row.data());
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

}  // namespace rafter
