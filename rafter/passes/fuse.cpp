#include "rafter/passes/fuse.h"

#include <algorithm>

#include "rafter/ops/matmul.h"
#include "rafter/ops/rmsnorm.h"
#include "rafter/ops/swiglu.h"

namespace rafter {

namespace {

// Up to this many rows a matmul is bound by its weights, and norming its input again in every block costs nothing.
constexpr int64_t kPrologueRows = 8;

int uses(const Plan& plan, ValueId id) {
  int count = 0;
  for (const Op& op : plan.ops()) count += static_cast<int>(std::count(op.inputs.begin(), op.inputs.end(), id));
  for (const Value& value : plan.values()) count += value.view_of == id ? 1 : 0;
  return count;
}

void erase(Plan& plan, size_t index) { plan.ops().erase(plan.ops().begin() + static_cast<ptrdiff_t>(index)); }

// rmsnorm, matmul -> matmul with the norm as its prologue.
bool norm_into_matmul(Plan& plan, size_t index) {
  if (index + 1 >= plan.ops().size()) return false;
  const Op& norm = plan.ops()[index];
  Op& next = plan.ops()[index + 1];
  if (norm.kind != OpKind::rmsnorm || next.kind != OpKind::matmul || next.inputs[matmul::x] != norm.outputs[rmsnorm::y])
    return false;
  const ValueId x = norm.inputs[rmsnorm::x];
  if (plan.value(x).shape[0] > kPrologueRows || uses(plan, norm.outputs[rmsnorm::y]) != 1) return false;
  MatmulAttrs attrs = next.as<MatmulAttrs>();
  attrs.norm_epsilon = norm.as<RmsNormAttrs>().epsilon;
  next.attrs = attrs;
  next.inputs[matmul::x] = x;
  next.inputs[matmul::norm] = norm.inputs[rmsnorm::weight];
  erase(plan, index);
  return true;
}

// matmul by gate and up, swiglu -> matmul with swiglu as its epilogue.
bool swiglu_into_matmul(Plan& plan, size_t index) {
  if (index + 1 >= plan.ops().size()) return false;
  Op& matmul = plan.ops()[index];
  const Op& gate = plan.ops()[index + 1];
  if (matmul.kind != OpKind::matmul || gate.kind != OpKind::swiglu || gate.inputs[swiglu::gate_up] != matmul.outputs[matmul::y])
    return false;
  const bool two_equal =
      matmul.inputs.size() == matmul::weights + 2 &&
      plan.value(matmul.inputs[matmul::weights]).shape == plan.value(matmul.inputs[matmul::weights + 1]).shape;
  if (!two_equal || matmul.inputs[matmul::residual] != kNone || uses(plan, matmul.outputs[matmul::y]) != 1) return false;
  MatmulAttrs attrs = matmul.as<MatmulAttrs>();
  attrs.swiglu = true;
  matmul.attrs = attrs;
  matmul.outputs[matmul::y] = gate.outputs[swiglu::y];
  erase(plan, index + 1);
  return true;
}

}  // namespace

const std::vector<FusionRule>& fusion_rules() {
  static const std::vector<FusionRule> rules = {
      {"norm into matmul",
       "at few rows the matmul waits for its weights, and the norm is a launch of its own for a few kilobytes",
       norm_into_matmul},
      {"swiglu into gate and up", "the same thread holds gate and up: 4F values are neither written nor read again",
       swiglu_into_matmul},
  };
  return rules;
}

std::vector<FusionReport> fuse(Plan& plan) {
  std::vector<FusionReport> report;
  for (const FusionRule& rule : fusion_rules()) {
    FusionReport line{rule.name, 0};
    for (size_t i = 0; i < plan.ops().size(); ++i) line.applied += rule.apply(plan, i) ? 1 : 0;
    report.push_back(line);
  }
  return report;
}

}  // namespace rafter
