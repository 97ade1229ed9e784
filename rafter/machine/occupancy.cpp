#include "rafter/machine/occupancy.h"

#include <algorithm>
#include <array>
#include <limits>

namespace rafter {

namespace {

constexpr int kWarp = 32;
constexpr int kRegisterUnit = 256;  // of a warp
constexpr int64_t kSharedUnit = 128;

int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::string_view name(OccupancyLimit limit) {
  constexpr std::array<std::string_view, 4> names = {"threads", "blocks", "registers", "shared memory"};
  return names[static_cast<size_t>(limit)];
}

Occupancy predict_occupancy(const SmLimits& sm, const BlockNeeds& block) {
  const int warps = (block.threads + kWarp - 1) / kWarp;
  const int64_t registers = rounded_up(int64_t{block.registers_per_thread} * kWarp, kRegisterUnit) * warps;
  const int64_t shared = rounded_up(block.shared_bytes + sm.shared_per_block_kept, kSharedUnit);
  const auto fit = [](int64_t have, int64_t need) { return need > 0 ? have / need : std::numeric_limits<int64_t>::max(); };
  const std::array<int64_t, 4> room = {fit(sm.threads / kWarp, warps), sm.blocks, fit(sm.registers, registers),
                                       fit(sm.shared_bytes, shared)};
  const auto least = std::min_element(room.begin(), room.end());
  Occupancy result;
  result.blocks = static_cast<int>(*least);
  result.warps = result.blocks * warps;
  result.fraction = static_cast<double>(result.warps) / (sm.threads / kWarp);
  result.limit = static_cast<OccupancyLimit>(least - room.begin());
  return result;
}

}  // namespace rafter
