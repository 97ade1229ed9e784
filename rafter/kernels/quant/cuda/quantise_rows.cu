// A warp for each group of 32.
#include "rafter/kernels/quant/cuda/quantise_rows.cuh"

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/cuda/dispatch.h"
#include "rafter/kernels/quant/cuda/quantise.cuh"

namespace rafter::quant {

namespace {

constexpr int kWarps = 8;

__global__ void quantise(cuda::Rows x, int64_t groups, int64_t groups_per_row, QuantisedRows out) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t group = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (group >= groups) return;
  const LaneQuantised value = quantise_lane(x.get(group / groups_per_row, group % groups_per_row * kGroupSize + lane));
#pragma unroll
  for (int i = 0; i < kLimbs; ++i) {
    out.limbs[i][group * kGroupSize + lane] = static_cast<int8_t>(limb(value.q, i));
  }
  if (lane == 0) out.scales[group] = {value.scale, static_cast<float>(value.sum)};
}

}  // namespace

void quantise_rows(const cuda::Rows& x, int64_t rows, int64_t k, const QuantisedRows& out, Stream& stream) {
  const int64_t groups = rows * (k / kGroupSize);
  if (groups == 0) return;
  cuda::launch(stream, {.grid = cuda::blocks_for(groups, kWarps), .block = dim3(kGroupSize, kWarps)}, quantise, x, groups,
               k / kGroupSize, out);
}

}  // namespace rafter::quant
