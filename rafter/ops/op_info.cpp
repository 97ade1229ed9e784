#include "rafter/ops/op_info.h"

#include <array>
#include <numeric>

#include "rafter/base/error.h"
#include "rafter/ops/advance.h"
#include "rafter/ops/argmax.h"
#include "rafter/ops/attention.h"
#include "rafter/ops/embed.h"
#include "rafter/ops/matmul.h"
#include "rafter/ops/registry.h"
#include "rafter/ops/rmsnorm.h"
#include "rafter/ops/rope_kv.h"
#include "rafter/ops/swiglu.h"

namespace rafter {

namespace {
// In the order of OpKind.
constexpr std::array<OpInfo, kOpKindCount> kKinds = {{
    {"embed", 2, 2, 1, embed::check, embed::cost, embed::reference},
    {"rmsnorm", 2, 2, 1, rmsnorm::check, rmsnorm::cost, rmsnorm::reference},
    {"matmul", 5, 7, 1, matmul::check, matmul::cost, matmul::reference},
    {"rope_kv", 6, 6, 3, rope_kv::check, rope_kv::cost, rope_kv::reference},
    {"attention_prefill", 5, 5, 1, attention::check, attention::cost, attention::reference},
    {"attention_decode", 5, 5, 1, attention::check, attention::cost, attention::reference},
    {"swiglu", 1, 1, 1, swiglu::check, swiglu::cost, swiglu::reference},
    {"argmax", 1, 1, 1, argmax::check, argmax::cost, argmax::reference},
    {"advance", 1, 1, 2, advance::check, advance::cost, advance::reference},
}};
}  // namespace

const OpInfo& info(OpKind kind) { return kKinds.at(static_cast<size_t>(kind)); }
std::string_view name(OpKind kind) { return info(kind).name; }

void require(bool holds, const OpView& op, std::string_view rule) {
  if (!holds) {
    throw input_error({fmt::format("op '{}' ({})", op.op->name, describe(op)), "against its contract", std::string(rule)});
  }
}

std::string_view name(MathUnit unit) {
  constexpr std::array<std::string_view, kMathUnitCount> names = {"fp64", "fp32", "tf32", "f16", "bf16", "fp8", "int8"};
  return names[static_cast<size_t>(unit)];
}

MathUnit multiplies(DType weights) {
  if (is_quantised(weights)) return MathUnit::int8;
  if (weights == DType::bf16) return MathUnit::bf16;
  return weights == DType::f16 ? MathUnit::f16 : MathUnit::fp32;
}

std::array<double, kMathUnitCount> work_on(MathUnit unit, double flops) {
  std::array<double, kMathUnitCount> work{};
  work[static_cast<size_t>(unit)] = flops;
  return work;
}

double Cost::flops() const { return std::accumulate(work.begin(), work.end(), 0.0); }

Cost& Cost::operator+=(const Cost& other) {
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  for (size_t i = 0; i < work.size(); ++i) work[i] += other.work[i];
  return *this;
}

Cost cost(const OpView& op, const CostContext& context) { return info(op.op->kind).cost(op, context); }

std::vector<Doubles> reference(const OpView& op) { return info(op.op->kind).reference(op); }

}  // namespace rafter
