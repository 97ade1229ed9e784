// An op's size in a few words, for tables: "m=1 n=960 k=576 q4_1".
#pragma once

#include <string>

#include "rafter/ops/cost.h"

namespace rafter {

// `context` is printed for attention, whose size is not in its shapes.
std::string shape_text(const OpView& op, const CostContext& context);

}  // namespace rafter
