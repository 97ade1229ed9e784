// A model on disk, or one made up: its config and its weights under one set of names, whatever file they came from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rafter/formats/stored_tensor.h"
#include "rafter/formats/tokenizer.h"
#include "rafter/models/config.h"

namespace rafter {

// `data` is null in a checkpoint of random weights. Matrices are [out, in]: y = W x.
struct LayerTensors {
  StoredTensor attention_norm;          // [hidden]
  StoredTensor q, k, v;                 // [q_width, hidden], [kv_width, hidden] twice
  StoredTensor q_bias, k_bias, v_bias;  // [q_width], [kv_width] twice; empty name where the model has none
  StoredTensor q_norm, k_norm;          // [head_dim]; empty name where the model has none
  StoredTensor o;                       // [hidden, q_width]
  StoredTensor ffn_norm;                // [hidden]
  StoredTensor gate, up;                // [ffn, hidden]
  StoredTensor down;                    // [hidden, ffn]
};

struct ModelTensors {
  StoredTensor embedding;  // [vocab, hidden]
  std::vector<LayerTensors> layers;
  StoredTensor final_norm;          // [hidden]
  StoredTensor head;                // [vocab, hidden]; the embedding where tied
  StoredTensor rope_factors;        // f32 [head_dim/2], what each frequency is divided by; empty name where the file has none
  std::vector<std::string> unused;  // names of tensors in the file that no op reads and no model of its kind has
};

class Checkpoint {
 public:
  // A GGUF file, a .safetensors file beside its config.json, or a folder of safetensors in Hugging Face's layout.
  // Throws an input Error that names what is missing or does not fit.
  static Checkpoint open(const std::string& path);
  // A config with no data: whoever loads it fills the weights with random numbers of `dtype`.
  static Checkpoint random(const ModelConfig& config, DType dtype);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  const ModelConfig& config() const;
  const ModelTensors& tensors() const;
  const std::string& path() const;  // empty for random weights
  bool is_random() const;
  DType dtype() const;           // what most of the weights' bytes are stored as
  int64_t weight_bytes() const;  // of all tensors, a tied head counted once
  bool has_tokenizer() const;
  Tokenizer tokenizer() const;  // an input Error where there is none

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rafter
