// The tokenizer that lies beside a checkpoint's weights.
#include "rafter/base/error.h"
#include "rafter/models/checkpoint_state.h"

namespace rafter {

Tokenizer Checkpoint::tokenizer() const {
  if (!has_tokenizer()) {
    const std::string model = is_random() ? in_quotes(state_->config.name) + " with random weights" : in_quotes(state_->path);
    throw input_error({"the tokenizer of " + model, "missing",
                       "'tokenizer.ggml.tokens' in a GGUF file, or a tokenizer.json beside safetensors"});
  }
  return state_->gguf ? Tokenizer::from_gguf(*state_->gguf) : Tokenizer::from_hf(state_->folder);
}

}  // namespace rafter
