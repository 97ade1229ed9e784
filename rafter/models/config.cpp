#include "rafter/models/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "rafter/base/error.h"
#include "rafter/models/config_checks.h"

namespace rafter {

namespace {

struct ArchitectureName {
  Architecture architecture;
  std::string_view gguf;          // "general.architecture"
  std::string_view hugging_face;  // "architectures"
};

constexpr std::array kArchitectures = {
    ArchitectureName{Architecture::llama, "llama", "LlamaForCausalLM"},
    ArchitectureName{Architecture::qwen2, "qwen2", "Qwen2ForCausalLM"},
    ArchitectureName{Architecture::qwen3, "qwen3", "Qwen3ForCausalLM"},
};

// Llama 3.1: frequencies whose wavelength is beyond the original context are slowed by `factor`, those well inside it are
// kept, and those between are blended. Source: transformers, modeling_rope_utils.py, _compute_llama3_parameters.
double scaled(double frequency, const Llama3RopeScaling& scaling) {
  const double turns = static_cast<double>(scaling.original_context) * frequency / (2 * std::numbers::pi);
  if (turns < scaling.low_freq_factor) return frequency / scaling.factor;
  if (turns > scaling.high_freq_factor) return frequency;
  const double kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace

std::string_view name(Architecture architecture) { return kArchitectures.at(static_cast<size_t>(architecture)).gguf; }

int64_t ModelConfig::parameters() const {
  const int64_t attention = hidden * (q_width() + 2 * kv_width()) + q_width() * hidden;
  const int64_t biases = qkv_bias ? q_width() + 2 * kv_width() : 0;
  const int64_t norms = 2 * hidden + (qk_norm ? 2 * head_dim : 0);
  const int64_t layer = attention + biases + norms + 3 * hidden * ffn;
  return vocab * hidden * (tied_head ? 1 : 2) + layers * layer + hidden;
}

std::vector<float> rope_frequencies(const ModelConfig& config) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < config.head_dim / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
    const double frequency = std::pow(config.rope_theta, exponent);
    frequencies.push_back(static_cast<float>(config.rope_scaling ? scaled(frequency, *config.rope_scaling) : frequency));
  }
  return frequencies;
}

int64_t checked_size(const std::string& thing, int64_t value, int64_t highest) {
  if (value >= 1 && value <= highest) return value;
  throw input_error({thing, std::to_string(value), fmt::format("1 to {}", highest)});
}

double checked_theta(const std::string& thing, double value) {
  if (std::isfinite(value) && value >= 1) return value;
  throw input_error({thing, fmt::format("{}", value), "a finite number of 1 or more"});
}

double checked_epsilon(const std::string& thing, double value) {
  if (value > 0 && value < 1) return value;  // also false for NaN
  throw input_error({thing, fmt::format("{}", value), "a number above 0 and below 1"});
}

void check_fit(const ModelConfig& config, const std::string& origin) {
  if (config.q_heads % config.kv_heads != 0) {
    throw input_error({origin + ": the number of attention heads", std::to_string(config.q_heads),
                       fmt::format("a multiple of the {} key and value heads", config.kv_heads)});
  }
  if (config.head_dim % 2 != 0) {
    throw input_error({origin + ": the size of a head", std::to_string(config.head_dim), "an even number, for rotary pairs"});
  }
  if (config.q_width() > kMaxWidth) {
    throw input_error(
        {origin + ": the width of all heads", std::to_string(config.q_width()), fmt::format("{} or less", kMaxWidth)});
  }
}

Architecture checked_architecture(const std::string& thing, const std::string& value, bool hugging_face) {
  std::string known;
  for (const ArchitectureName& row : kArchitectures) {
    const std::string_view name = hugging_face ? row.hugging_face : row.gguf;
    if (name == value) return row.architecture;
    known += (known.empty() ? "" : row.architecture == Architecture::qwen3 ? " or " : ", ") + std::string(name);
  }
  throw input_error({thing, in_quotes(value, 80), known, "this architecture is not supported"});
}

}  // namespace rafter
