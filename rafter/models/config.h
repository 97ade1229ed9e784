// What a model is: its sizes and the few switches in which the supported architectures differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/base/dtype.h"

namespace rafter {

class GgufFile;

enum class Architecture { llama, qwen2, qwen3 };
std::string_view name(Architecture architecture);

// Llama 3.1's change of the low rotary frequencies ("rope_type": "llama3").
struct Llama3RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_context = 8192;
};

struct ModelConfig {
  std::string name;  // for people: "SmolLM2 135M Instruct"
  Architecture architecture = Architecture::llama;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t ffn = 0;  // width of gate and up
  int64_t q_heads = 0, kv_heads = 0, head_dim = 0;
  int64_t vocab = 0;
  int64_t context = 0;  // positions the model was made for
  double norm_epsilon = 1e-5;
  double rope_theta = 10000;
  std::optional<Llama3RopeScaling> rope_scaling;
  bool rope_interleaved = false;  // pairs (2i, 2i+1), as GGUF stores llama; else (i, i + head_dim/2)
  bool tied_head = false;         // the LM head is the embedding table
  bool qkv_bias = false;          // qwen2
  bool qk_norm = false;           // qwen3: RMSNorm of each head of q and k before RoPE

  int64_t q_width() const { return q_heads * head_dim; }
  int64_t kv_width() const { return kv_heads * head_dim; }
  int64_t parameters() const;
};

// Rotary frequencies, head_dim/2 of them: theta^(-2i/head_dim), with rope_scaling applied in double precision.
std::vector<float> rope_frequencies(const ModelConfig& config);

// Each throws an input Error that names the key, its value and what was expected: an unknown architecture, sizes that
// are zero, negative, too large or do not fit together, an unsupported rope type.
ModelConfig config_from_gguf(const GgufFile& file);
ModelConfig config_from_hf(std::string_view config_json, const std::string& origin);

// The configs that --random-weights takes: qwen2.5-0.5b, qwen2.5-1.5b, qwen2.5-7b, qwen3-0.6b, qwen3-8b, llama-3.2-1b,
// llama-3.1-8b, smollm2-135m. An unknown name is an input Error that lists them.
const std::vector<std::string>& shipped_configs();
ModelConfig shipped_config(std::string_view name);

}  // namespace rafter
