// What an op must cost at the least: bytes that a perfect kernel moves, each counted once, and FLOPs the maths needs.
#pragma once

#include <cstdint>

#include "rafter/ops/op.h"

namespace rafter {

struct Cost {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;  // a multiply-add is two
  double bytes() const { return bytes_read + bytes_written; }
  Cost& operator+=(const Cost& other);
};

// Lengths live in device memory, so a cost must be told the one figure that shapes do not hold.
struct CostContext {
  int64_t context = 0;  // keys each sequence has when the step begins; the step's own tokens come on top
};

Cost cost(const OpView& op, const CostContext& context);

}  // namespace rafter
