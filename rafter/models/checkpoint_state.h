// What a Checkpoint keeps open: the mapped files that its tensors point into.
#pragma once

#include <optional>
#include <string>

#include "rafter/formats/gguf.h"
#include "rafter/formats/safetensors.h"
#include "rafter/models/checkpoint.h"

namespace rafter {

struct Checkpoint::State {
  std::string path;    // as it was given; empty for random weights
  std::string folder;  // of a Hugging Face checkpoint, where its tokenizer.json lies
  std::optional<GgufFile> gguf;
  std::optional<SafetensorsSet> safetensors;
  ModelConfig config;
  ModelTensors tensors;
  DType dtype = DType::f32;
  int64_t weight_bytes = 0;

  void read_gguf();          // of `path`
  void read_hugging_face();  // of `path` and `folder`
  void tally();              // sets dtype and weight_bytes from the tensors
};

}  // namespace rafter
