// The instruction set that this processor runs the CPU kernels with.
#pragma once

#include <string_view>

namespace rafter {

// Highway's name of it: "AVX3_DL", "AVX2", "NEON".
std::string_view simd_target();

}  // namespace rafter
