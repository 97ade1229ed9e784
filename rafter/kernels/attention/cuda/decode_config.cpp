#include "rafter/kernels/attention/cuda/decode_config.h"

#include <algorithm>
#include <cmath>

namespace rafter::attention {

std::optional<DecodeConfig>& decode_override() {
  static std::optional<DecodeConfig> instance;
  return instance;
}

DecodeConfig decode_config() { return decode_override().value_or(DecodeConfig{}); }

int decode_splits(const DecodeConfig& config, int64_t rows, int64_t width, int multiprocessors) {
  const double slots = static_cast<double>(config.blocks_per_sm) * std::max(multiprocessors, 1);
  const auto most =
      static_cast<int>(std::clamp<int64_t>((width + config.min_pages - 1) / config.min_pages, 1, config.max_splits));
  const auto fill = [&](int splits) {
    const double waves = static_cast<double>(rows * splits) / slots;
    return waves / std::ceil(waves);
  };
  double best = 0;
  for (int s = 1; s <= most; ++s) best = std::max(best, fill(s));
  int splits = 1;
  while (splits < most && fill(splits) < 0.95 * best) ++splits;
  return splits;
}

}  // namespace rafter::attention
