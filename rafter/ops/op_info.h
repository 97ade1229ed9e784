// What the core needs to know of each kind: its operand counts, check, cost and reference. Each kind's own header
// declares the functions; the table in op_info.cpp is the one place that lists them all.
#pragma once

#include "rafter/ops/cost.h"
#include "rafter/ops/op.h"
#include "rafter/ops/reference.h"

namespace rafter {

struct OpInfo {
  std::string_view name;
  int min_inputs, max_inputs, outputs;
  void (*check)(const OpView& op);  // throws an input Error where shapes or dtypes break the contract
  Cost (*cost)(const OpView& op, const CostContext& context);
  std::vector<Doubles> (*reference)(const OpView& op);
};

const OpInfo& info(OpKind kind);

// For checks: an input Error that describes the op and says which rule it breaks.
void require(bool holds, const OpView& op, std::string_view rule);

}  // namespace rafter
