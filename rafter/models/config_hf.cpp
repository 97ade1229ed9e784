// A config from the config.json of a Hugging Face checkpoint. Keys and their defaults: transformers, configuration_llama.py,
// configuration_qwen2.py, configuration_qwen3.py.
#include <filesystem>

#include "rafter/base/error.h"
#include "rafter/formats/json_object.h"
#include "rafter/models/config.h"
#include "rafter/models/config_checks.h"

namespace rafter {

namespace {

// "Qwen/Qwen3-0.6B", "/models/Qwen3-0.6B/" and "/models/Qwen3-0.6B/config.json" all give "Qwen3-0.6B".
std::string last_name(std::filesystem::path path) {
  if (path.filename() == "config.json") path = path.parent_path();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& origin) : json_(text, origin), path_(origin) {}

  ModelConfig read() {
    config_.architecture = read_architecture();
    config_.layers = required("num_hidden_layers", kMaxLayers);
    config_.hidden = required("hidden_size", kMaxWidth);
    config_.ffn = required("intermediate_size", kMaxWidth);
    config_.vocab = required("vocab_size", kMaxVocab);
    config_.context = required("max_position_embeddings", kMaxContext);
    config_.norm_epsilon = checked_epsilon(thing("rms_norm_eps"), json_.real("rms_norm_eps").value_or(1e-6));
    config_.tied_head = json_.boolean("tie_word_embeddings").value_or(false);
    config_.qkv_bias = config_.architecture == Architecture::qwen2;
    config_.qk_norm = config_.architecture == Architecture::qwen3;
    config_.name = last_name(json_.text("_name_or_path").value_or(""));
    if (config_.name.empty()) config_.name = last_name(path_);
    read_heads();
    read_rope();
    refuse_what_is_unsupported();
    check_fit(config_, json_.origin());
    return config_;
  }

 private:
  std::string thing(std::string_view key) const { return fmt::format("{}: '{}'", json_.origin(), key); }

  int64_t required(std::string_view key, int64_t highest) const {
    const std::optional<int64_t> value = json_.integer(key);
    if (!value) throw input_error({thing(key), "missing", fmt::format("1 to {}", highest)});
    return checked_size(thing(key), *value, highest);
  }

  int64_t optional(std::string_view key, int64_t otherwise, int64_t highest) const {
    return checked_size(thing(key), json_.integer(key).value_or(otherwise), highest);
  }

  Architecture read_architecture() const {
    const std::vector<std::string> names = json_.texts("architectures");
    if (!names.empty()) return checked_architecture(thing("architectures"), names[0], true);
    const std::optional<std::string> type = json_.text("model_type");
    if (!type) throw input_error({thing("architectures"), "missing", "LlamaForCausalLM, Qwen2ForCausalLM or Qwen3ForCausalLM"});
    return checked_architecture(thing("model_type"), *type, false);
  }

  void read_heads() {
    config_.q_heads = required("num_attention_heads", kMaxHeads);
    config_.kv_heads = optional("num_key_value_heads", config_.q_heads, kMaxHeads);
    if (!json_.has("head_dim") && config_.hidden % config_.q_heads != 0) {
      throw input_error({thing("hidden_size"), std::to_string(config_.hidden),
                         fmt::format("a multiple of the {} heads where 'head_dim' is absent", config_.q_heads)});
    }
    config_.head_dim = optional("head_dim", config_.hidden / config_.q_heads, kMaxHeadDim);
  }

  // transformers 5 moves rope_theta and rope_scaling into one object, "rope_parameters".
  void read_rope() {
    const std::optional<JsonObject> parameters = json_.object("rope_parameters");
    const std::optional<JsonObject> scaling = parameters ? std::nullopt : json_.object("rope_scaling");
    const bool moved = parameters && parameters->has("rope_theta");
    const std::optional<double> theta = moved ? parameters->real("rope_theta") : json_.real("rope_theta");
    config_.rope_theta = checked_theta(thing(moved ? "rope_parameters.rope_theta" : "rope_theta"), theta.value_or(10000));
    if (parameters) {
      refuse_partial_rotation(*parameters);
      read_scaling(*parameters, "rope_parameters");
    }
    if (scaling) read_scaling(*scaling, "rope_scaling");
  }

  void read_scaling(const JsonObject& rope, const std::string& name) {
    const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type").value_or("default");
    if (type == "default") return;
    const double factor = rope.real("factor").value_or(1);
    if (type == "llama3") {
      config_.rope_scaling = read_llama3(rope, name);
    } else if (factor != 1 || (type != "linear" && type != "dynamic")) {
      throw input_error({thing(name), fmt::format("{} with a factor of {}", in_quotes(type, 80), factor),
                         "'default', 'llama3', or 'linear' with a factor of 1",
                         "this scaling of rotary positions is not supported"});
    }
  }

  Llama3RopeScaling read_llama3(const JsonObject& rope, const std::string& name) const {
    const auto factor = [&](const std::string& key) {
      const std::optional<double> value = rope.real(key);
      if (!value) throw input_error({thing(name + "." + key), "missing", "a number of 1 or more"});
      return checked_theta(thing(name + "." + key), *value);
    };
    Llama3RopeScaling scaling;
    scaling.factor = factor("factor");
    scaling.low_freq_factor = factor("low_freq_factor");
    scaling.high_freq_factor = factor("high_freq_factor");
    scaling.original_context = checked_size(thing(name + ".original_max_position_embeddings"),
                                            rope.integer("original_max_position_embeddings").value_or(0), kMaxContext);
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      throw input_error({thing(name + ".high_freq_factor"), fmt::format("{}", scaling.high_freq_factor),
                         fmt::format("more than low_freq_factor, {}", scaling.low_freq_factor)});
    }
    return scaling;
  }

  void refuse_if_true(std::string_view key, const std::string& what) const {
    if (json_.boolean(key).value_or(false)) throw input_error({thing(key), "true", "false", what + " is not supported"});
  }

  void refuse_partial_rotation(const JsonObject& json) const {
    const double rotated = json.real("partial_rotary_factor").value_or(1);
    if (rotated != 1) throw input_error({thing("partial_rotary_factor"), fmt::format("{}", rotated), "1"});
  }

  // Each of these would change the numbers if it were passed over.
  void refuse_what_is_unsupported() const {
    if (config_.architecture != Architecture::qwen2) refuse_if_true("attention_bias", "a bias in attention");
    refuse_if_true("mlp_bias", "a bias in the feed-forward layers");
    refuse_if_true("use_sliding_window", "attention over a sliding window");
    for (const std::string& type : json_.texts("layer_types")) {
      if (type != "full_attention")
        throw input_error({thing("layer_types"), in_quotes(type, 80), "'full_attention' in every layer"});
    }
    const std::string activation = json_.text("hidden_act").value_or("silu");
    if (activation != "silu") throw input_error({thing("hidden_act"), in_quotes(activation, 80), "'silu'"});
    refuse_partial_rotation(json_);
    if (const auto quantisation = json_.object("quantization_config")) {
      throw input_error({thing("quantization_config"), in_quotes(quantisation->text("quant_method").value_or("unnamed"), 80),
                         "none", "use the checkpoint in bf16 or f16, or a GGUF file of this model"});
    }
  }

  JsonObject json_;
  std::string path_;
  ModelConfig config_;
};

}  // namespace

ModelConfig config_from_hf(std::string_view config_json, const std::string& origin) {
  return Reader(config_json, origin).read();
}

}  // namespace rafter
