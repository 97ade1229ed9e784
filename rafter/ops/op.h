// What a step computes: an Op names a kind, the values it reads and writes, and its attributes.
//
// An Op knows nothing of devices. Kernels (registry.h) run it, cost.h prices it, and each kind's own header
// (matmul.h, attention.h, ...) states its contract and computes it in double precision.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rafter/device/tensor.h"

namespace rafter {

enum class OpKind : uint8_t { embed, rmsnorm, matmul, rope_kv, attention_prefill, attention_decode, swiglu, argmax, advance };
inline constexpr int kOpKindCount = 9;
std::string_view name(OpKind kind);

using ValueId = int32_t;
inline constexpr ValueId kNone = -1;  // an optional operand that is not there

struct RmsNormAttrs {
  double epsilon = 1e-5;
};

struct MatmulAttrs {
  bool swiglu = false;         // two weights, gate and up: y = silu(x gate^T) * (x up^T)
  double norm_epsilon = 1e-5;  // of the norm prologue, where its weight is present
};

struct RopeKvAttrs {
  int64_t q_heads = 0, kv_heads = 0, head_dim = 0;
  bool interleaved = false;    // pairs (2i, 2i+1); else (i, i + head_dim/2)
  double norm_epsilon = 1e-6;  // of the per-head norms, where their weights are present
};

struct AttentionAttrs {
  int64_t q_heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 1;  // of q.k before the softmax
};

struct NoAttrs {};
using Attrs = std::variant<NoAttrs, RmsNormAttrs, MatmulAttrs, RopeKvAttrs, AttentionAttrs>;

struct Op {
  OpKind kind = OpKind::embed;
  std::vector<ValueId> inputs;  // by the slots of the kind's header; kNone where optional and absent
  std::vector<ValueId> outputs;
  Attrs attrs;
  std::string name;  // "ffn_down"
  int layer = -1;    // -1 outside the layers

  template <typename T>
  const T& as() const {
    return std::get<T>(attrs);
  }
};

// An op with its operands as tensors: what kernels and references take. Absent operands have rank 0. While a kernel is
// being chosen the data pointers are null.
struct OpView {
  const Op* op = nullptr;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  void* workspace = nullptr;  // of the size the kernel asked for; its content is undefined on entry

  template <typename T>
  const T& attrs() const {
    return op->as<T>();
  }
};

}  // namespace rafter
