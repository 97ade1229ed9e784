// A config from the metadata of a GGUF file. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "rafter/base/error.h"
#include "rafter/formats/gguf.h"
#include "rafter/models/config.h"
#include "rafter/models/config_checks.h"

namespace rafter {

namespace {

class Reader {
 public:
  explicit Reader(const GgufFile& file) : file_(file), origin_(in_quotes(file.path())) {
    const std::optional<std::string> architecture = file.text("general.architecture");
    if (!architecture) throw missing("general.architecture");
    prefix_ = *architecture + ".";
    config_.architecture = checked_architecture(thing("general.architecture"), *architecture, false);
  }

  ModelConfig read() {
    config_.name = file_.text("general.name").value_or(std::string(name(config_.architecture)));
    config_.layers = required("block_count", kMaxLayers);
    config_.context = required("context_length", kMaxContext);
    config_.hidden = required("embedding_length", kMaxWidth);
    config_.ffn = required("feed_forward_length", kMaxWidth);
    read_heads();
    read_rope();
    read_vocab();
    const std::string epsilon = key("attention.layer_norm_rms_epsilon");
    const std::optional<double> value = file_.real(epsilon);
    if (!value) throw missing(epsilon);
    config_.norm_epsilon = checked_epsilon(thing(epsilon), *value);
    config_.tied_head = file_.find("output.weight") == nullptr;
    config_.qkv_bias = config_.architecture == Architecture::qwen2;
    config_.qk_norm = config_.architecture == Architecture::qwen3;
    refuse_unless_zero("expert_count", "a mixture of experts");
    refuse_unless_zero("attention.sliding_window", "attention over a sliding window");
    check_fit(config_, origin_);
    return config_;
  }

 private:
  std::string key(std::string_view suffix) const { return prefix_ + std::string(suffix); }
  std::string thing(std::string_view key) const { return fmt::format("{}: '{}'", origin_, printable(key)); }
  Error missing(const std::string& key) const {
    return input_error({thing(key), "missing", "it in the metadata", "convert the model again"});
  }

  int64_t required(std::string_view suffix, int64_t highest) const {
    const std::optional<int64_t> value = file_.integer(key(suffix));
    if (!value) throw missing(key(suffix));
    return checked_size(thing(key(suffix)), *value, highest);
  }

  int64_t optional(std::string_view suffix, int64_t otherwise, int64_t highest) const {
    return file_.has(key(suffix)) ? required(suffix, highest) : otherwise;
  }

  void refuse_unless_zero(std::string_view suffix, const std::string& what) const {
    const int64_t value = file_.integer(key(suffix)).value_or(0);
    if (value != 0) throw input_error({thing(key(suffix)), std::to_string(value), "0", what + " is not supported"});
  }

  void read_heads() {
    config_.q_heads = required("attention.head_count", kMaxHeads);
    config_.kv_heads = optional("attention.head_count_kv", config_.q_heads, kMaxHeads);
    if (!file_.has(key("attention.key_length")) && config_.hidden % config_.q_heads != 0) {
      throw input_error(
          {thing(key("embedding_length")), std::to_string(config_.hidden),
           fmt::format("a multiple of the {} heads where '{}' is absent", config_.q_heads, key("attention.key_length"))});
    }
    config_.head_dim = optional("attention.key_length", config_.hidden / config_.q_heads, kMaxHeadDim);
    config_.head_dim = checked_size(thing(key("attention.key_length")), config_.head_dim, kMaxHeadDim);
    require_head_dim("attention.value_length");
    require_head_dim("rope.dimension_count");
  }

  void require_head_dim(std::string_view suffix) const {
    const int64_t value = optional(suffix, config_.head_dim, kMaxHeadDim);
    if (value != config_.head_dim) {
      throw input_error({thing(key(suffix)), std::to_string(value), fmt::format("{}, the size of a head", config_.head_dim)});
    }
  }

  // Llama 3.1's scaling is no metadata here: such files carry the factors as tensor rope_freqs.weight.
  void read_rope() {
    config_.rope_theta = checked_theta(thing(key("rope.freq_base")), file_.real(key("rope.freq_base")).value_or(10000));
    // A converter permutes the rows of llama's q and k, so that the pairs to rotate lie side by side.
    config_.rope_interleaved = config_.architecture == Architecture::llama;
    const std::string type = file_.text(key("rope.scaling.type")).value_or("linear");
    if (type == "none") return;
    const bool named_factor = file_.has(key("rope.scaling.factor"));
    const std::string factor_key = key(named_factor ? "rope.scaling.factor" : "rope.scale_linear");
    const double factor = file_.real(factor_key).value_or(1);
    if (type == "linear" && (factor == 1 || factor == 0)) return;  // 0: none, to llama.cpp
    throw input_error({thing(key("rope.scaling.type")), fmt::format("{} with a factor of {}", in_quotes(type, 80), factor),
                       "'none', or 'linear' with a factor of 1", "this scaling of rotary positions is not supported"});
  }

  void read_vocab() {
    constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
    const StoredTensor* embedding = file_.find("token_embd.weight");
    if (file_.has(kTokens)) {
      config_.vocab = checked_size(thing(kTokens), static_cast<int64_t>(file_.texts(kTokens).size()), kMaxVocab);
      const int64_t said = optional("vocab_size", config_.vocab, kMaxVocab);
      if (said != config_.vocab) {
        throw input_error({thing(key("vocab_size")), std::to_string(said),
                           fmt::format("{}, the number of tokens in '{}'", config_.vocab, kTokens), "convert the model again"});
      }
    } else if (file_.has(key("vocab_size")) || embedding == nullptr) {
      config_.vocab = required("vocab_size", kMaxVocab);
    } else {
      config_.vocab = checked_size(origin_ + ": the rows of token_embd.weight", embedding->shape[0], kMaxVocab);
    }
  }

  const GgufFile& file_;
  std::string origin_;
  std::string prefix_;
  ModelConfig config_;
};

}  // namespace

ModelConfig config_from_gguf(const GgufFile& file) { return Reader(file).read(); }

}  // namespace rafter
