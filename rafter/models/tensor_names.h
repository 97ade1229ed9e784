// Finds a model's tensors under the names that GGUF and Hugging Face give them, and proves that each is there and has the
// shape its config asks for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/models/checkpoint.h"

namespace rafter {

enum class Naming { gguf, hugging_face };

struct TensorSource {
  Naming naming;
  std::string origin;                                         // for messages: the path, quoted
  std::vector<std::string_view> names;                        // all tensors of the file
  std::function<const StoredTensor*(std::string_view)> find;  // null where there is none
};

// An input Error names a tensor that is missing, has another shape, or would change the result but is not supported (a bias
// the architecture does not have, fused projections, a layer beyond the config's). Others that the model does not have are
// listed as unused.
ModelTensors find_tensors(const ModelConfig& config, const TensorSource& source);

// The same tensors with no data, under GGUF's names: matrices of `dtype`, norms and biases of f32.
ModelTensors made_up_tensors(const ModelConfig& config, DType dtype);

// Calls visit(const StoredTensor&) for each tensor that the model has, a tied head once.
void for_each_tensor(const ModelTensors& tensors, const std::function<void(const StoredTensor&)>& visit);

}  // namespace rafter
