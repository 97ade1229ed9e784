// silu(a) = a / (1 + exp(-a)).
#pragma once

namespace rafter::cuda {

// For a far below 0, exp(-a) is infinite and the quotient is -0, as it should be.
__device__ inline float silu(float a) { return a / (1.0f + expf(-a)); }

}  // namespace rafter::cuda
