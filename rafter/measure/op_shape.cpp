#include "rafter/measure/op_shape.h"

#include <fmt/format.h>

#include "rafter/ops/argmax.h"
#include "rafter/ops/attention.h"
#include "rafter/ops/embed.h"
#include "rafter/ops/matmul.h"
#include "rafter/ops/rmsnorm.h"
#include "rafter/ops/rope_kv.h"
#include "rafter/ops/swiglu.h"

namespace rafter {

namespace {

std::string rows_text(const Tensor& t) { return fmt::format("{}x{} {}", t.shape.rows(), t.shape.last(), name(t.dtype)); }

std::string matmul_text(const OpView& op) {
  const Tensor &x = op.inputs[matmul::x], &w = op.inputs[matmul::weights];
  return fmt::format("m={} n={} k={} {}", x.shape.rows(), matmul::total_n(op), x.shape.last(), name(w.dtype));
}

std::string attention_text(const OpView& op, const CostContext& context) {
  const auto& attrs = op.attrs<AttentionAttrs>();
  return fmt::format("{}x{}h/{}kv d={} ctx={} {}", op.inputs[attention::q].shape[0], attrs.q_heads, attrs.kv_heads,
                     attrs.head_dim, context.context, name(op.inputs[attention::k_cache].dtype));
}

std::string rope_text(const OpView& op) {
  const auto& attrs = op.attrs<RopeKvAttrs>();
  return fmt::format("{}x{}h/{}kv d={} {}", op.inputs[rope_kv::qkv].shape[0], attrs.q_heads, attrs.kv_heads, attrs.head_dim,
                     name(op.inputs[rope_kv::qkv].dtype));
}

}  // namespace

std::string shape_text(const OpView& op, const CostContext& context) {
  switch (op.op->kind) {
    case OpKind::embed: {
      const Tensor& table = op.inputs[embed::table];
      return fmt::format("{} of {}x{} {}", op.inputs[embed::tokens].shape.elements(), table.shape[0], table.shape[1],
                         name(table.dtype));
    }
    case OpKind::rmsnorm:
      return rows_text(op.inputs[rmsnorm::x]);
    case OpKind::matmul:
      return matmul_text(op);
    case OpKind::rope_kv:
      return rope_text(op);
    case OpKind::attention_prefill:
    case OpKind::attention_decode:
      return attention_text(op, context);
    case OpKind::swiglu:
      return rows_text(op.inputs[swiglu::gate_up]);
    case OpKind::argmax:
      return rows_text(op.inputs[argmax::x]);
    case OpKind::advance:
      return fmt::format("{} i32", op.inputs[0].shape.elements());
  }
  return {};
}

}  // namespace rafter
