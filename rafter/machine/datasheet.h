// What vendors print of a GPU: drawn dashed beside the measured roofs, and never used in their place.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rafter/ops/cost.h"

namespace rafter {

struct Datasheet {
  std::string_view product;  // as the driver's name begins
  double dram_bytes_per_second = 0;
  std::vector<std::pair<MathUnit, double>> dense_flops_per_second;  // without structured sparsity
};

// Of a device by the name its driver gives it; nullopt for one that is not in the list.
std::optional<Datasheet> datasheet(std::string_view device_name);

}  // namespace rafter
