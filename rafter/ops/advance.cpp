#include "rafter/ops/advance.h"

#include "rafter/ops/checks.h"

namespace rafter::advance {

void check(const OpView& op) {
  const int64_t t = op.inputs[next].shape.last();
  require(is_vector(op.inputs[next], DType::i32, t), op, "next i32 [T]");
  require(is_vector(op.outputs[tokens], DType::i32, t) && is_vector(op.outputs[positions], DType::i32, t), op,
          "tokens and positions i32 [T]");
}

Cost cost(const OpView& op, const CostContext&) {
  const double count = static_cast<double>(op.inputs[next].shape.last());
  return {.bytes_read = 8 * count, .bytes_written = 8 * count};
}

std::vector<Doubles> reference(const OpView& op) {
  Doubles position = to_doubles(op.outputs[positions]);
  for (double& p : position) p += p < 0 ? 0 : 1;
  return {to_doubles(op.inputs[next]), position};
}

}  // namespace rafter::advance
