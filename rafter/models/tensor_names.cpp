#include "rafter/models/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "rafter/base/error.h"

namespace rafter {

namespace {

// ---- What a layer holds ----

bool always(const ModelConfig&) { return true; }
bool with_bias(const ModelConfig& config) { return config.qkv_bias; }
bool with_norm(const ModelConfig& config) { return config.qk_norm; }

// One tensor of a layer: its name after "blk.N." and "model.layers.N.", its place, its shape, and whether a model has it.
struct LayerRow {
  std::string_view gguf, hugging_face;
  StoredTensor LayerTensors::*member;
  Shape (*shape)(const ModelConfig&);
  bool (*wanted)(const ModelConfig&) = always;

  std::string_view suffix(Naming naming) const { return naming == Naming::gguf ? gguf : hugging_face; }
};

const std::array kLayerRows = {
    LayerRow{"attn_norm.weight", "input_layernorm.weight", &LayerTensors::attention_norm,
             [](const ModelConfig& c) { return Shape{c.hidden}; }},
    LayerRow{"attn_q.weight", "self_attn.q_proj.weight", &LayerTensors::q,
             [](const ModelConfig& c) {
               return Shape{c.q_width(), c.hidden};
             }},
    LayerRow{"attn_k.weight", "self_attn.k_proj.weight", &LayerTensors::k,
             [](const ModelConfig& c) {
               return Shape{c.kv_width(), c.hidden};
             }},
    LayerRow{"attn_v.weight", "self_attn.v_proj.weight", &LayerTensors::v,
             [](const ModelConfig& c) {
               return Shape{c.kv_width(), c.hidden};
             }},
    LayerRow{"attn_q.bias", "self_attn.q_proj.bias", &LayerTensors::q_bias,
             [](const ModelConfig& c) { return Shape{c.q_width()}; }, with_bias},
    LayerRow{"attn_k.bias", "self_attn.k_proj.bias", &LayerTensors::k_bias,
             [](const ModelConfig& c) { return Shape{c.kv_width()}; }, with_bias},
    LayerRow{"attn_v.bias", "self_attn.v_proj.bias", &LayerTensors::v_bias,
             [](const ModelConfig& c) { return Shape{c.kv_width()}; }, with_bias},
    LayerRow{"attn_q_norm.weight", "self_attn.q_norm.weight", &LayerTensors::q_norm,
             [](const ModelConfig& c) { return Shape{c.head_dim}; }, with_norm},
    LayerRow{"attn_k_norm.weight", "self_attn.k_norm.weight", &LayerTensors::k_norm,
             [](const ModelConfig& c) { return Shape{c.head_dim}; }, with_norm},
    LayerRow{"attn_output.weight", "self_attn.o_proj.weight", &LayerTensors::o,
             [](const ModelConfig& c) {
               return Shape{c.hidden, c.q_width()};
             }},
    LayerRow{"ffn_norm.weight", "post_attention_layernorm.weight", &LayerTensors::ffn_norm,
             [](const ModelConfig& c) { return Shape{c.hidden}; }},
    LayerRow{"ffn_gate.weight", "mlp.gate_proj.weight", &LayerTensors::gate,
             [](const ModelConfig& c) {
               return Shape{c.ffn, c.hidden};
             }},
    LayerRow{"ffn_up.weight", "mlp.up_proj.weight", &LayerTensors::up,
             [](const ModelConfig& c) {
               return Shape{c.ffn, c.hidden};
             }},
    LayerRow{"ffn_down.weight", "mlp.down_proj.weight", &LayerTensors::down,
             [](const ModelConfig& c) {
               return Shape{c.hidden, c.ffn};
             }},
};

struct Names {
  std::string_view embedding, final_norm, head, head_bias, layer;  // a layer's names start with `layer`, its number, a dot
};

const Names& names_of(Naming naming) {
  static constexpr Names kGguf = {"token_embd.weight", "output_norm.weight", "output.weight", "output.bias", "blk."};
  static constexpr Names kHuggingFace = {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "lm_head.bias",
                                         "model.layers."};
  return naming == Naming::gguf ? kGguf : kHuggingFace;
}

std::string layer_name(Naming naming, int64_t layer, const LayerRow& row) {
  return fmt::format("{}{}.{}", names_of(naming).layer, layer, row.suffix(naming));
}

// ---- Finding them in a file ----

class Finder {
 public:
  Finder(const ModelConfig& config, const TensorSource& source) : config_(config), source_(source) {}

  ModelTensors find() {
    refuse_unsupported();
    const Names& names = names_of(source_.naming);
    ModelTensors tensors;
    tensors.embedding = find(names.embedding, {config_.vocab, config_.hidden});
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      LayerTensors& out = tensors.layers.emplace_back();
      for (const LayerRow& row : kLayerRows) {
        if (row.wanted(config_)) out.*row.member = find(layer_name(source_.naming, layer, row), row.shape(config_));
      }
      // A config may claim thousands of layers that the file does not have.
      if (missing_.size() > kLayerRows.size()) break;
    }
    tensors.final_norm = find(names.final_norm, {config_.hidden});
    tensors.head = config_.tied_head ? tensors.embedding : find(names.head, {config_.vocab, config_.hidden});
    report_missing();
    if (source_.naming == Naming::gguf) find_rope_factors(tensors);
    for (const std::string_view name : source_.names) {
      if (!is_expected(name)) tensors.unused.emplace_back(name);
    }
    return tensors;
  }

 private:
  std::string thing(std::string_view tensor) const {
    return fmt::format("tensor {} of {}", in_quotes(tensor, 120), source_.origin);
  }

  StoredTensor find(std::string_view name, const Shape& shape) {
    const StoredTensor* tensor = source_.find(name);
    if (tensor == nullptr) {
      missing_.emplace_back(name);
      return {};
    }
    if (tensor->shape != shape) {
      throw input_error(
          {"the shape of " + thing(name), tensor->shape.to_string(), shape.to_string() + ", by the model's config"});
    }
    if (shape.rank() == 1 && is_quantised(tensor->dtype)) {
      throw input_error({"the type of " + thing(name), std::string(rafter::name(tensor->dtype)), "f32, f16 or bf16"});
    }
    return *tensor;
  }

  void report_missing() const {
    if (missing_.empty()) return;
    const std::string more = missing_.size() > 1 ? fmt::format(" (and so are {} more)", missing_.size() - 1) : "";
    const bool shard = source_.origin.find("-of-") != std::string::npos && source_.origin.ends_with(".safetensors'");
    throw input_error({thing(missing_[0]), "missing" + more,
                       fmt::format("a whole {} model", rafter::name(config_.architecture)),
                       shard ? "give the folder, so that every shard is read" : "download the model again"});
  }

  // The tensors that this reader would pass over although they change the result.
  void refuse_unsupported() const {
    for (const std::string_view name : source_.names) {
      const std::optional<LayerPart> part = layer_part(name);
      if (part && part->layer >= config_.layers) {
        throw input_error({thing(name), "of a layer beyond the last",
                           config_.layers == 1 ? "one layer, by the model's config"
                                               : fmt::format("layers 0 to {}, by the model's config", config_.layers - 1),
                           "the file and its config do not belong together: download the model again"});
      }
      if (name != names_of(source_.naming).head_bias && (!part || is_known(part->suffix))) continue;
      const bool fused = part && (part->suffix.find("qkv") != std::string_view::npos ||
                                  part->suffix.find("gate_up") != std::string_view::npos ||
                                  part->suffix.find("W_pack") != std::string_view::npos);
      const std::string expected = fused ? "query, key, value, gate and up each in a tensor of its own"
                                         : fmt::format("only the tensors of a {} model", rafter::name(config_.architecture));
      throw input_error({thing(name), fused ? "fused, which is not supported" : "not supported", expected});
    }
  }

  // "blk.N.suffix" taken apart.
  struct LayerPart {
    int64_t layer;
    std::string_view suffix;
  };

  std::optional<LayerPart> layer_part(std::string_view name) const {
    const std::string_view prefix = names_of(source_.naming).layer;
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    const size_t dot = name.find('.');
    int64_t layer = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + std::min(dot, name.size()), layer);
    // Only as a number is written: "blk.01." and "blk.-1." are no layer of anything.
    if (dot == std::string_view::npos || error != std::errc() || name.substr(0, dot) != std::to_string(layer) || layer < 0)
      return std::nullopt;
    return LayerPart{layer, name.substr(dot + 1)};
  }

  bool is_known(std::string_view suffix) const {
    // Rotary frequencies, which old converters stored and the config gives anyway.
    if (suffix == "self_attn.rotary_emb.inv_freq" || suffix == "attn_rot_embd") return true;
    return std::any_of(kLayerRows.begin(), kLayerRows.end(),
                       [&](const LayerRow& row) { return row.suffix(source_.naming) == suffix && row.wanted(config_); });
  }

  // Used, or stored by habit: a head that is the embedding once more, rotary frequencies.
  bool is_expected(std::string_view name) const {
    const Names& names = names_of(source_.naming);
    const std::string_view others[] = {names.embedding, names.final_norm, names.head, "rope_freqs.weight",
                                       "model.rotary_emb.inv_freq"};
    return layer_part(name) || std::find(std::begin(others), std::end(others), name) != std::end(others);
  }

  void find_rope_factors(ModelTensors& tensors) {
    constexpr std::string_view kName = "rope_freqs.weight";
    if (source_.find(kName) == nullptr) return;
    tensors.rope_factors = find(kName, {config_.head_dim / 2});
    if (tensors.rope_factors.dtype != DType::f32) {
      throw input_error({"the type of " + thing(kName), std::string(rafter::name(tensors.rope_factors.dtype)), "f32"});
    }
    for (int64_t i = 0; i < config_.head_dim / 2; ++i) {
      float factor;
      std::memcpy(&factor, tensors.rope_factors.data + i * 4, sizeof(factor));
      if (!std::isfinite(factor) || factor <= 0) {
        throw input_error(
            {fmt::format("value {} of {}", i, thing(kName)), fmt::format("{}", factor), "a finite number above 0"});
      }
    }
  }

  const ModelConfig& config_;
  const TensorSource& source_;
  std::vector<std::string> missing_;
};

StoredTensor made_up(std::string name, const Shape& shape, DType dtype) {
  const DType type = shape.rank() == 1 ? DType::f32 : dtype;
  const int64_t bytes = row_bytes(type, shape.last()) * shape.rows();
  return {std::move(name), type, shape, nullptr, bytes};
}

}  // namespace

ModelTensors find_tensors(const ModelConfig& config, const TensorSource& source) { return Finder(config, source).find(); }

ModelTensors made_up_tensors(const ModelConfig& config, DType dtype) {
  const Names& names = names_of(Naming::gguf);
  ModelTensors tensors;
  tensors.embedding = made_up(std::string(names.embedding), {config.vocab, config.hidden}, dtype);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    LayerTensors& out = tensors.layers.emplace_back();
    for (const LayerRow& row : kLayerRows) {
      if (row.wanted(config)) out.*row.member = made_up(layer_name(Naming::gguf, layer, row), row.shape(config), dtype);
    }
  }
  tensors.final_norm = made_up(std::string(names.final_norm), {config.hidden}, dtype);
  tensors.head = config.tied_head ? tensors.embedding : made_up(std::string(names.head), {config.vocab, config.hidden}, dtype);
  return tensors;
}

void for_each_tensor(const ModelTensors& tensors, const std::function<void(const StoredTensor&)>& visit) {
  visit(tensors.embedding);
  for (const LayerTensors& layer : tensors.layers) {
    for (const LayerRow& row : kLayerRows) {
      if (!(layer.*row.member).name.empty()) visit(layer.*row.member);
    }
  }
  visit(tensors.final_norm);
  if (tensors.head.name != tensors.embedding.name) visit(tensors.head);
  if (!tensors.rope_factors.name.empty()) visit(tensors.rope_factors);
}

}  // namespace rafter
