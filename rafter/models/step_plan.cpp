#include "rafter/models/step_plan.h"

#include <fmt/format.h>

#include <cmath>

#include "rafter/ops/rope_kv.h"

namespace rafter {

namespace {

// The story of one step, told op by op: embedding, layers, head.
class StepBuilder {
 public:
  StepBuilder(const ModelConfig& config, const ModelTensors& tensors, const StepSpec& spec)
      : config_(config), tensors_(tensors), spec_(spec) {}

  Plan build() {
    bind_inputs();
    ValueId x = temporary("x", {spec_.tokens, config_.hidden});
    add(OpKind::embed, {tokens_, weight(tensors_.embedding)}, {x}, "embed");
    for (layer_ = 0; layer_ < config_.layers; ++layer_) {
      const LayerTensors& layer = tensors_.layers[static_cast<size_t>(layer_)];
      x = feed_forward(layer, attention(layer, x));
    }
    layer_ = -1;
    head(x);
    return std::move(plan_);
  }

 private:
  void bind_inputs() {
    const int64_t t = spec_.tokens, sequences = spec_.attention == OpKind::attention_decode ? t : 1;
    tokens_ = plan_.add_value({"tokens", DType::i32, {t}, Role::state});
    positions_ = plan_.add_value({"positions", DType::i32, {t}, Role::state});
    block_table_ = plan_.add_value({"block_table", DType::i32, {sequences, spec_.pages_per_sequence}, Role::input});
    frequencies_ = plan_.add_value({"rope_frequencies", DType::f32, {config_.head_dim / 2}, Role::weight});
  }

  // [T, hidden] -> [T, hidden]: x + o(attention(rope(qkv(norm(x)))))
  ValueId attention(const LayerTensors& layer, ValueId x) {
    const int64_t t = spec_.tokens, d = config_.head_dim;
    const ValueId normed = norm(x, layer.attention_norm, "attention_norm");
    const ValueId qkv = temporary("qkv", {t, (config_.q_heads + 2 * config_.kv_heads) * d});
    add(OpKind::matmul, {normed, qkv_bias(layer), kNone, kNone, weight(layer.q), weight(layer.k), weight(layer.v)}, {qkv},
        "qkv", MatmulAttrs{});
    const Shape cache = {spec_.cache_pages, config_.kv_heads, kPageTokens, d};
    const ValueId k = plan_.add_value({fmt::format("cache_k.{}", layer_), spec_.cache, cache, Role::state});
    const ValueId v = plan_.add_value({fmt::format("cache_v.{}", layer_), spec_.cache, cache, Role::state});
    const ValueId q = temporary("q", {t, config_.q_width()});
    add(OpKind::rope_kv, {qkv, positions_, block_table_, frequencies_, weight(layer.q_norm), weight(layer.k_norm)}, {q, k, v},
        "rope_kv", RopeKvAttrs{config_.q_heads, config_.kv_heads, d, config_.rope_interleaved, config_.norm_epsilon});
    const ValueId attended = temporary("attended", {t, config_.q_width()});
    add(spec_.attention, {q, k, v, block_table_, positions_}, {attended}, "attention",
        AttentionAttrs{config_.q_heads, config_.kv_heads, d, 1.0 / std::sqrt(static_cast<double>(d))});
    const ValueId out = temporary("x", {t, config_.hidden});
    add(OpKind::matmul, {attended, kNone, x, kNone, weight(layer.o)}, {out}, "attention_out", MatmulAttrs{});
    return out;
  }

  // [T, hidden] -> [T, hidden]: x + down(silu(gate(norm(x))) * up(norm(x)))
  ValueId feed_forward(const LayerTensors& layer, ValueId x) {
    const int64_t t = spec_.tokens;
    const ValueId normed = norm(x, layer.ffn_norm, "ffn_norm");
    const ValueId gate_up = temporary("gate_up", {t, 2 * config_.ffn});
    add(OpKind::matmul, {normed, kNone, kNone, kNone, weight(layer.gate), weight(layer.up)}, {gate_up}, "ffn_gate_up",
        MatmulAttrs{});
    const ValueId gated = temporary("gated", {t, config_.ffn});
    add(OpKind::swiglu, {gate_up}, {gated}, "ffn_swiglu");
    const ValueId out = temporary("x", {t, config_.hidden});
    add(OpKind::matmul, {gated, kNone, x, kNone, weight(layer.down)}, {out}, "ffn_down", MatmulAttrs{});
    return out;
  }

  void head(ValueId x) {
    if (spec_.logits == LogitRows::none) return;
    const bool one_row = spec_.logits == LogitRows::last && spec_.attention == OpKind::attention_prefill;
    const int64_t rows = one_row ? 1 : spec_.tokens;
    if (one_row) x = plan_.add_view(x, spec_.tokens - 1, 1);
    const ValueId normed = norm(x, tensors_.final_norm, "final_norm");
    const ValueId logits = plan_.add_value({"logits", DType::f32, {rows, config_.vocab}, Role::output});
    add(OpKind::matmul, {normed, kNone, kNone, kNone, weight(tensors_.head)}, {logits}, "head", MatmulAttrs{});
    if (!spec_.greedy) return;
    const ValueId next = plan_.add_value({"next", DType::i32, {rows}, Role::output});
    add(OpKind::argmax, {logits}, {next}, "argmax");
    add(OpKind::advance, {next}, {tokens_, positions_}, "advance");
  }

  ValueId norm(ValueId x, const StoredTensor& scale, const char* op_name) {
    const ValueId normed = temporary("normed", plan_.value(x).shape);
    add(OpKind::rmsnorm, {x, weight(scale)}, {normed}, op_name, RmsNormAttrs{config_.norm_epsilon});
    return normed;
  }

  ValueId temporary(const char* value_name, const Shape& shape) {
    return plan_.add_value({value_name, spec_.activation, shape});
  }

  // Vectors (norms, biases) are bound as f32, whatever the file holds.
  ValueId weight(const StoredTensor& tensor) {
    if (tensor.name.empty()) return kNone;
    const DType dtype = tensor.shape.rank() == 1 ? DType::f32 : tensor.dtype;
    return plan_.add_value({tensor.name, dtype, tensor.shape, Role::weight});
  }

  // The three biases lie one after the other under the name of the first.
  ValueId qkv_bias(const LayerTensors& layer) {
    if (layer.q_bias.name.empty()) return kNone;
    return plan_.add_value({layer.q_bias.name, DType::f32, {config_.q_width() + 2 * config_.kv_width()}, Role::weight});
  }

  void add(OpKind kind, std::vector<ValueId> inputs, std::vector<ValueId> outputs, const char* op_name, Attrs attrs = {}) {
    plan_.add_op({kind, std::move(inputs), std::move(outputs), attrs, op_name, static_cast<int>(layer_)});
  }

  const ModelConfig& config_;
  const ModelTensors& tensors_;
  const StepSpec& spec_;
  Plan plan_;
  int64_t layer_ = -1;
  ValueId tokens_ = kNone, positions_ = kNone, block_table_ = kNone, frequencies_ = kNone;
};

}  // namespace

Plan build_step(const ModelConfig& config, const ModelTensors& tensors, const StepSpec& spec) {
  return StepBuilder(config, tensors, spec).build();
}

DType activation_dtype(DType weights, DeviceKind device) {
  const bool half = weights == DType::f16 || weights == DType::bf16;
  return half && device == DeviceKind::cuda ? weights : DType::f32;
}

DType cache_dtype(DType weights) { return is_quantised(weights) ? DType::f16 : weights; }

}  // namespace rafter
