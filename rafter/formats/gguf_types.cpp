#include "rafter/formats/gguf_types.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "rafter/base/error.h"

namespace rafter {

namespace {

struct GgufType {
  uint32_t id;
  std::string_view name;
  std::optional<DType> dtype = std::nullopt;
};

// Source: enum ggml_type of ggml.h. Numbers 4, 5, 31 to 33 and 36 to 38 are of types since removed.
constexpr std::array kTypes = {
    GgufType{0, "F32", DType::f32},
    GgufType{1, "F16", DType::f16},
    GgufType{2, "Q4_0", DType::q4_0},
    GgufType{3, "Q4_1", DType::q4_1},
    GgufType{4, "Q4_2"},
    GgufType{5, "Q4_3"},
    GgufType{6, "Q5_0", DType::q5_0},
    GgufType{7, "Q5_1", DType::q5_1},
    GgufType{8, "Q8_0", DType::q8_0},
    GgufType{9, "Q8_1"},
    GgufType{10, "Q2_K"},
    GgufType{11, "Q3_K"},
    GgufType{12, "Q4_K", DType::q4_k},
    GgufType{13, "Q5_K", DType::q5_k},
    GgufType{14, "Q6_K", DType::q6_k},
    GgufType{15, "Q8_K"},
    GgufType{16, "IQ2_XXS"},
    GgufType{17, "IQ2_XS"},
    GgufType{18, "IQ3_XXS"},
    GgufType{19, "IQ1_S"},
    GgufType{20, "IQ4_NL"},
    GgufType{21, "IQ3_S"},
    GgufType{22, "IQ2_S"},
    GgufType{23, "IQ4_XS"},
    GgufType{24, "I8"},
    GgufType{25, "I16"},
    GgufType{26, "I32"},
    GgufType{27, "I64"},
    GgufType{28, "F64"},
    GgufType{29, "IQ1_M"},
    GgufType{30, "BF16", DType::bf16},
    GgufType{31, "Q4_0_4_4"},
    GgufType{32, "Q4_0_4_8"},
    GgufType{33, "Q4_0_8_8"},
    GgufType{34, "TQ1_0"},
    GgufType{35, "TQ2_0"},
    GgufType{36, "IQ4_NL_4_4"},
    GgufType{37, "IQ4_NL_4_8"},
    GgufType{38, "IQ4_NL_8_8"},
    GgufType{39, "MXFP4"},
    GgufType{40, "NVFP4"},
    GgufType{41, "Q1_0"},
    GgufType{42, "Q2_0"},
};

// Rows are in order of their numbers, which are also their places.
const GgufType* find_type(uint32_t id) { return id < kTypes.size() ? &kTypes[id] : nullptr; }

}  // namespace

std::optional<DType> gguf_dtype(uint32_t id) {
  const GgufType* type = find_type(id);
  return type == nullptr ? std::nullopt : type->dtype;
}

std::string gguf_type_name(uint32_t id) {
  const GgufType* type = find_type(id);
  return type == nullptr ? fmt::format("number {}", id) : std::string(type->name);
}

uint32_t gguf_type_id(DType dtype) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const GgufType& type) { return type.dtype == dtype; });
  if (found == kTypes.end()) throw input_error({"type " + std::string(name(dtype)), "not one that GGUF weights use"});
  return found->id;
}

}  // namespace rafter
