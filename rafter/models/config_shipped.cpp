// The configs that --random-weights takes, with the values of each model's public config.json (of the instruct variant,
// where variants differ: Qwen2.5's base models claim a context of 131072).
#include <array>

#include "rafter/base/error.h"
#include "rafter/models/config.h"

namespace rafter {

namespace {

struct Shipped {
  std::string_view id, name;
  Architecture architecture;
  int64_t layers, hidden, ffn, q_heads, kv_heads, head_dim, vocab, context;
  double norm_epsilon, rope_theta;
  bool tied_head;
  double llama3_factor = 0;  // 0: no scaling
};

constexpr std::array kShipped = {
    Shipped{"qwen2.5-0.5b", "Qwen2.5 0.5B", Architecture::qwen2, 24, 896, 4864, 14, 2, 64, 151936, 32768, 1e-6, 1e6, true},
    Shipped{"qwen2.5-1.5b", "Qwen2.5 1.5B", Architecture::qwen2, 28, 1536, 8960, 12, 2, 128, 151936, 32768, 1e-6, 1e6, true},
    Shipped{"qwen2.5-7b", "Qwen2.5 7B", Architecture::qwen2, 28, 3584, 18944, 28, 4, 128, 152064, 32768, 1e-6, 1e6, false},
    Shipped{"qwen3-0.6b", "Qwen3 0.6B", Architecture::qwen3, 28, 1024, 3072, 16, 8, 128, 151936, 40960, 1e-6, 1e6, true},
    Shipped{"qwen3-8b", "Qwen3 8B", Architecture::qwen3, 36, 4096, 12288, 32, 8, 128, 151936, 40960, 1e-6, 1e6, false},
    Shipped{"llama-3.2-1b", "Llama 3.2 1B", Architecture::llama, 16, 2048, 8192, 32, 8, 64, 128256, 131072, 1e-5, 5e5, true,
            32},
    Shipped{"llama-3.1-8b", "Llama 3.1 8B", Architecture::llama, 32, 4096, 14336, 32, 8, 128, 128256, 131072, 1e-5, 5e5, false,
            8},
    Shipped{"smollm2-135m", "SmolLM2 135M", Architecture::llama, 30, 576, 1536, 9, 3, 64, 49152, 8192, 1e-5, 1e5, true},
};

ModelConfig to_config(const Shipped& row) {
  ModelConfig config;
  config.name = row.name;
  config.architecture = row.architecture;
  config.layers = row.layers;
  config.hidden = row.hidden;
  config.ffn = row.ffn;
  config.q_heads = row.q_heads;
  config.kv_heads = row.kv_heads;
  config.head_dim = row.head_dim;
  config.vocab = row.vocab;
  config.context = row.context;
  config.norm_epsilon = row.norm_epsilon;
  config.rope_theta = row.rope_theta;
  config.tied_head = row.tied_head;
  config.qkv_bias = row.architecture == Architecture::qwen2;
  config.qk_norm = row.architecture == Architecture::qwen3;
  if (row.llama3_factor != 0) config.rope_scaling = Llama3RopeScaling{row.llama3_factor, 1, 4, 8192};
  return config;
}

}  // namespace

const std::vector<std::string>& shipped_configs() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> out;
    for (const Shipped& row : kShipped) out.emplace_back(row.id);
    return out;
  }();
  return ids;
}

ModelConfig shipped_config(std::string_view name) {
  std::string known;
  for (const Shipped& row : kShipped) {
    if (row.id == name) return to_config(row);
    known += (known.empty() ? "" : ", ") + std::string(row.id);
  }
  throw input_error({"the config " + in_quotes(name, 80), "not known", "one of " + known});
}

}  // namespace rafter
