// A Plan: ops in order over numbered values. A model builds it once; passes rewrite it; executors, the memory planner,
// trace and predict read it.
#pragma once

#include <string>
#include <vector>

#include "rafter/ops/op.h"

namespace rafter {

enum class Role : uint8_t {
  temporary,  // made and used inside the step: the memory planner places it
  weight,     // bound once, read only
  state,      // bound once, read and written: KV cache, the token and position being decoded
  input,      // bound once, written by the host between steps: block table
  output,     // bound once, read by the host after a step: logits
};

struct Value {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Role role = Role::temporary;
  ValueId view_of = kNone;  // rows [first_row, first_row + rows) of another value
  int64_t first_row = 0;
};

class Plan {
 public:
  ValueId add_value(Value value);
  // Some rows of a value, as a value of its own that owns no memory.
  ValueId add_view(ValueId base, int64_t first_row, int64_t rows);
  // Appends an op whose operands exist already; a wrong operand count or shape is an input Error that names the op.
  void add_op(Op op);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Op>& ops() const { return ops_; }
  std::vector<Op>& ops() { return ops_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }

  // The op's operands as tensors with shapes and null data, for costs and kernel choice.
  struct Operands {
    std::vector<Tensor> inputs, outputs;
    OpView view(const Op& op) const { return {&op, inputs, outputs, nullptr}; }
  };
  Operands operands(const Op& op) const;

 private:
  std::vector<Value> values_;
  std::vector<Op> ops_;
};

}  // namespace rafter
