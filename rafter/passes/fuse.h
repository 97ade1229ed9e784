// Fusion: neighbouring ops become one where that saves a launch and a trip through memory. Each rule is a small object,
// listed by fusion_rules(); the results equal the unfused plan within rounding.
#pragma once

#include <string_view>
#include <vector>

#include "rafter/ops/plan.h"

namespace rafter {

struct FusionRule {
  std::string_view name;
  std::string_view why;
  // Rewrites the plan at op `index` where the pattern matches; true where it did.
  bool (*apply)(Plan& plan, size_t index);
};

const std::vector<FusionRule>& fusion_rules();

struct FusionReport {
  std::string_view rule;
  int applied = 0;
};

// Applies every rule wherever it matches, once over the plan.
std::vector<FusionReport> fuse(Plan& plan);

}  // namespace rafter
