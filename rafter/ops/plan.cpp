#include "rafter/ops/plan.h"

#include "rafter/base/error.h"
#include "rafter/ops/op_info.h"

namespace rafter {

ValueId Plan::add_value(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Plan::add_view(ValueId base, int64_t first_row, int64_t rows) {
  const Value& whole = value(base);
  if (whole.shape.rank() != 2 || first_row < 0 || rows < 0 || first_row + rows > whole.shape[0]) {
    throw input_error({fmt::format("a view of rows {} to {} of '{}'", first_row, first_row + rows, whole.name), "outside it",
                       "rows of " + whole.shape.to_string()});
  }
  return add_value({whole.name, whole.dtype, {rows, whole.shape[1]}, whole.role, base, first_row});
}

void Plan::add_op(Op op) {
  const OpInfo& kind = info(op.kind);
  const auto count = static_cast<int>(op.inputs.size());
  if (count < kind.min_inputs || count > kind.max_inputs || static_cast<int>(op.outputs.size()) != kind.outputs) {
    throw input_error({fmt::format("the operands of op '{}' ({})", op.name, kind.name),
                       fmt::format("{} inputs and {} outputs", count, op.outputs.size()),
                       fmt::format("{} to {} inputs and {} outputs", kind.min_inputs, kind.max_inputs, kind.outputs)});
  }
  const Operands tensors = operands(op);
  kind.check(tensors.view(op));
  ops_.push_back(std::move(op));
}

Plan::Operands Plan::operands(const Op& op) const {
  const auto tensor = [&](ValueId id) {
    if (id == kNone) return Tensor{};
    const Value& v = values_.at(static_cast<size_t>(id));
    return Tensor::contiguous(v.dtype, v.shape, nullptr);
  };
  Operands operands;
  for (const ValueId id : op.inputs) operands.inputs.push_back(tensor(id));
  for (const ValueId id : op.outputs) operands.outputs.push_back(tensor(id));
  return operands;
}

}  // namespace rafter
