// argmax: the index of each row's largest value. Ties give the lowest index, NaN is passed over, and a row with no
// number above -inf gives 0.
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::argmax {

enum Input { x };       // f32, f16 or bf16 [T, V]
enum Output { index };  // i32 [T]

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::argmax
