// The numbers by which a GGUF file names its tensor types, with the names ggml gives them. Rafter reads some; the rest
// are listed so that an error can name what a file holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rafter/base/dtype.h"

namespace rafter {

// Nothing where Rafter cannot read the type.
std::optional<DType> gguf_dtype(uint32_t id);
// "Q4_K", "IQ2_XXS" ..., or "number 99" where ggml has given it no name.
std::string gguf_type_name(uint32_t id);
// The id of a type, for writers: one of Rafter's block or float types.
uint32_t gguf_type_id(DType type);

}  // namespace rafter
