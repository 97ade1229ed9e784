#include "rafter/ops/embed.h"

#include <algorithm>

#include "rafter/ops/block_formats.h"
#include "rafter/ops/checks.h"

namespace rafter::embed {

void check(const OpView& op) {
  const Tensor &ids = op.inputs[tokens], &rows = op.inputs[table], &out = op.outputs[x];
  require(is_vector(ids, DType::i32, ids.shape.last()), op, "tokens i32 [T]");
  require(rows.shape.rank() == 2, op, "a table [V, H]");
  require(is_activation(out) && is_matrix(out, ids.shape.last(), rows.shape.last()), op, "x [T, H]");
}

Cost cost(const OpView& op, const CostContext&) {
  const Tensor &rows = op.inputs[table], &out = op.outputs[x];
  const double count = static_cast<double>(out.shape.rows());
  return {.bytes_read = count * static_cast<double>(row_bytes(rows.dtype, rows.shape.last())) + 4 * count,
          .bytes_written = static_cast<double>(out.bytes())};
}

std::vector<Doubles> reference(const OpView& op) {
  const Tensor &ids = op.inputs[tokens], &rows = op.inputs[table];
  const int64_t width = rows.shape.last();
  Doubles out(static_cast<size_t>(op.outputs[x].shape.elements()), 0.0);
  std::vector<float> row(static_cast<size_t>(width));
  for (int64_t t = 0; t < ids.shape.last(); ++t) {
    const int32_t token = ids.as<int32_t>()[t];
    if (token < 0 || token >= rows.shape[0]) continue;
    decode_row(rows.dtype, rows.row(token), width, row.data());
    std::copy(row.begin(), row.end(), out.begin() + t * width);
  }
  return {out};
}

}  // namespace rafter::embed
