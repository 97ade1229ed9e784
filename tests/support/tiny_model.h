// Small models with random weights, as GGUF and in Hugging Face's layout, for tests of whatever reads or runs a model.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "rafter/models/config.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace rafter::test {

// Two layers, grouped heads; in qwen3 a head is wider than hidden / heads. Every row is a multiple of 32.
inline ModelConfig tiny_config(Architecture architecture, bool tied_head = true) {
  ModelConfig config;
  config.name = "tiny";
  config.architecture = architecture;
  config.layers = 2;
  config.hidden = 32;
  config.ffn = 96;
  config.q_heads = 4;
  config.kv_heads = 2;
  config.head_dim = architecture == Architecture::qwen3 ? 16 : 8;
  config.vocab = 40;
  config.context = 128;
  config.norm_epsilon = 1e-5;
  config.tied_head = tied_head;
  config.qkv_bias = architecture == Architecture::qwen2;
  config.qk_norm = architecture == Architecture::qwen3;
  return config;
}

struct TinyTensor {
  std::string gguf, hugging_face;
  std::vector<int64_t> shape;  // outermost first
};

inline std::vector<TinyTensor> tiny_tensors(const ModelConfig& c) {
  std::vector<TinyTensor> out = {{"token_embd.weight", "model.embed_tokens.weight", {c.vocab, c.hidden}}};
  for (int64_t i = 0; i < c.layers; ++i) {
    const auto add = [&](const char* gguf, const char* hugging_face, std::vector<int64_t> shape) {
      out.push_back({fmt::format("blk.{}.{}", i, gguf), fmt::format("model.layers.{}.{}", i, hugging_face), std::move(shape)});
    };
    add("attn_norm.weight", "input_layernorm.weight", {c.hidden});
    add("attn_q.weight", "self_attn.q_proj.weight", {c.q_width(), c.hidden});
    add("attn_k.weight", "self_attn.k_proj.weight", {c.kv_width(), c.hidden});
    add("attn_v.weight", "self_attn.v_proj.weight", {c.kv_width(), c.hidden});
    if (c.qkv_bias) {
      add("attn_q.bias", "self_attn.q_proj.bias", {c.q_width()});
      add("attn_k.bias", "self_attn.k_proj.bias", {c.kv_width()});
      add("attn_v.bias", "self_attn.v_proj.bias", {c.kv_width()});
    }
    if (c.qk_norm) {
      add("attn_q_norm.weight", "self_attn.q_norm.weight", {c.head_dim});
      add("attn_k_norm.weight", "self_attn.k_norm.weight", {c.head_dim});
    }
    add("attn_output.weight", "self_attn.o_proj.weight", {c.hidden, c.q_width()});
    add("ffn_norm.weight", "post_attention_layernorm.weight", {c.hidden});
    add("ffn_gate.weight", "mlp.gate_proj.weight", {c.ffn, c.hidden});
    add("ffn_up.weight", "mlp.up_proj.weight", {c.ffn, c.hidden});
    add("ffn_down.weight", "mlp.down_proj.weight", {c.hidden, c.ffn});
  }
  out.push_back({"output_norm.weight", "model.norm.weight", {c.hidden}});
  if (!c.tied_head) out.push_back({"output.weight", "lm_head.weight", {c.vocab, c.hidden}});
  return out;
}

// The metadata alone, without a tokenizer.
inline GgufWriter tiny_gguf_metadata(const ModelConfig& c) {
  GgufWriter writer;
  const std::string arch(name(c.architecture));
  writer.put("general.architecture", arch.c_str()).put("general.name", c.name.c_str());
  const auto put = [&](const char* key, int64_t value) { writer.put(arch + "." + key, static_cast<uint32_t>(value)); };
  put("block_count", c.layers);
  put("context_length", c.context);
  put("embedding_length", c.hidden);
  put("feed_forward_length", c.ffn);
  put("attention.head_count", c.q_heads);
  put("attention.head_count_kv", c.kv_heads);
  put("attention.key_length", c.head_dim);
  put("attention.value_length", c.head_dim);
  put("vocab_size", c.vocab);
  writer.put(arch + ".attention.layer_norm_rms_epsilon", static_cast<float>(c.norm_epsilon));
  writer.put(arch + ".rope.freq_base", static_cast<float>(c.rope_theta));
  return writer;
}

// Weights of f32, or matrices of random blocks of a quantised type (whose scales are then random bits: for readers only).
inline GgufWriter tiny_gguf(const ModelConfig& c, DType matrices = DType::f32) {
  GgufWriter writer = tiny_gguf_metadata(c);
  uint64_t seed = 1;
  for (const TinyTensor& tensor : tiny_tensors(c)) {
    const DType type = tensor.shape.size() == 1 ? DType::f32 : matrices;
    const std::vector<uint64_t> extents(tensor.shape.rbegin(), tensor.shape.rend());
    const int64_t rows = tensor.shape.size() == 1 ? 1 : tensor.shape[0];
    const Bytes data = type == DType::f32 ? random_f32(seed, rows * tensor.shape.back(), 0.5f)
                                          : random_bytes(seed, rows * row_bytes(type, tensor.shape.back()));
    writer.add(tensor.gguf, type, extents, data);
    ++seed;
  }
  return writer;
}

inline std::string tiny_config_json(const ModelConfig& c, const std::string& more = {}) {
  const char* names[] = {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"};
  return fmt::format(R"({{"architectures":["{}"],"hidden_act":"silu","hidden_size":{},"intermediate_size":{},
    "num_hidden_layers":{},"num_attention_heads":{},"num_key_value_heads":{},"head_dim":{},"vocab_size":{},
    "max_position_embeddings":{},"rms_norm_eps":{},"rope_theta":{},"tie_word_embeddings":{}{}}})",
                     names[static_cast<int>(c.architecture)], c.hidden, c.ffn, c.layers, c.q_heads, c.kv_heads, c.head_dim,
                     c.vocab, c.context, c.norm_epsilon, c.rope_theta, c.tied_head, more);
}

// The weights of tiny_gguf(c) as f32 safetensors, in one file or in several shards, with a config.json.
inline void write_tiny_hugging_face(const TempFolder& folder, const ModelConfig& c, int shards = 1) {
  folder.write("config.json", tiny_config_json(c));
  std::vector<SafetensorsWriter> files(static_cast<size_t>(shards));
  const auto file_name = [&](size_t i) {
    return shards == 1 ? std::string("model.safetensors") : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards);
  };
  std::string map;
  uint64_t seed = 1;
  for (const TinyTensor& tensor : tiny_tensors(c)) {
    const size_t file = seed % files.size();
    const int64_t rows = tensor.shape.size() == 1 ? 1 : tensor.shape[0];
    files[file].add(tensor.hugging_face, "F32", tensor.shape, random_f32(seed, rows * tensor.shape.back(), 0.5f));
    map += fmt::format(R"({}"{}":"{}")", map.empty() ? "" : ",", tensor.hugging_face, file_name(file));
    ++seed;
  }
  for (size_t i = 0; i < files.size(); ++i) folder.write(file_name(i), files[i].bytes());
  if (shards > 1) folder.write("model.safetensors.index.json", fmt::format(R"({{"metadata":{{}},"weight_map":{{{}}}}})", map));
}

}  // namespace rafter::test
