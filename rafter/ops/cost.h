// What an op must cost at the least: bytes that a perfect kernel moves, each counted once, and FLOPs the maths needs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "rafter/ops/op.h"

namespace rafter {

// The kinds of arithmetic unit that machines have roofs for.
enum class MathUnit : uint8_t { fp64, fp32, tf32, f16, bf16, fp8, int8 };
inline constexpr int kMathUnitCount = 7;
std::string_view name(MathUnit unit);  // "bf16"

// The fastest unit that multiplies weights of this type to the accuracy their ops promise: their own tensor-core type, int8 for
// block formats (small integers and a scale), FP32 for float32.
MathUnit multiplies(DType weights);

struct Cost {
  double bytes_read = 0;
  double bytes_written = 0;
  std::array<double, kMathUnitCount> work{};  // FLOPs by unit; a multiply-add is two
  double bytes() const { return bytes_read + bytes_written; }
  double flops() const;
  double flops(MathUnit unit) const { return work[static_cast<size_t>(unit)]; }
  Cost& operator+=(const Cost& other);
};

// All of it on one unit: for Cost::work.
std::array<double, kMathUnitCount> work_on(MathUnit unit, double flops);

// Lengths live in device memory, so a cost must be told the one figure that shapes do not hold.
struct CostContext {
  int64_t context = 0;  // keys each sequence has when the step begins; the step's own tokens come on top
};

Cost cost(const OpView& op, const CostContext& context);

}  // namespace rafter
