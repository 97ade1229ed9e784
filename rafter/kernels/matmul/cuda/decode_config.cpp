#include "rafter/kernels/matmul/cuda/decode_config.h"

#include <algorithm>

namespace rafter::decode {

namespace {

int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Warps of 256 columns each (32 lanes x 8) that divide K with the least left over: K is taken in the fewest equal passes
// of at most 14 warps. 1536 gives 6 (one pass), 4096 gives 8 (two), 8960 gives 12 (three), 14336 gives 14 (four).
int warps_for(int64_t k) {
  const int64_t warp_steps = ceil_div(k, 256);
  const int64_t passes = ceil_div(warp_steps, 14);
  return static_cast<int>(ceil_div(warp_steps, passes));
}

}  // namespace

// Enough rows and each warp has its own; else the warps of a block share rows and split K, so that about 8 blocks of 8
// warps reach every SM. By N and K alone: the order of the sum, and so the result, is the same for any number of tokens.
RowsConfig rows_config(const Problem& p) {
  if (overrides().rows) return overrides().rows(p);
  RowsConfig config;
  const int64_t warps_wanted = int64_t{16} * 132;
  config.group_warps = 1;
  while (config.group_warps < 8 && p.n / config.rows * config.group_warps < warps_wanted &&
         p.k / 256 >= 2 * config.group_warps) {
    config.group_warps *= 2;
  }
  config.unroll = p.k / 256 >= 2 * config.group_warps ? 2 : 1;
  return config;
}

// Tiles of 4 rows leave the SMs at most 3% apart on the shapes of the 1.5B and 8B models; long matrices take 8 rows,
// which halves the reads of x and the sums per weight, and those of many warps take 2, for stages of a like size.
RingConfig ring_choice(const Problem& p) {
  RingConfig config;
  config.warps = warps_for(p.k);
  config.rows = config.warps > 8 ? 2 : p.n >= int64_t{128} * p.multiprocessors && p.tokens <= 2 ? 8 : 4;
  return config;
}

RingConfig ring_config(const Problem& p) { return overrides().ring ? overrides().ring(p) : ring_choice(p); }

MmaConfig mma_config(const Problem& p) {
  if (overrides().mma) return overrides().mma(p);
  MmaConfig config;
  const int64_t warps_wanted = int64_t{16} * 132;
  config.group_warps = 1;
  while (config.group_warps < 8 && p.n / 8 * config.group_warps < warps_wanted && p.k / 64 >= 2 * config.group_warps) {
    config.group_warps *= 2;
  }
  return config;
}

Overrides& overrides() {
  static Overrides instance;
  return instance;
}

}  // namespace rafter::decode
