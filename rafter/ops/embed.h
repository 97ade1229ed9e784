// embed: rows of a table.
//   x[t, :] = table[tokens[t], :]
// A token below 0 or past the table is a padding row: zeros.
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::embed {

enum Input { tokens, table };  // i32 [T]; any dtype [V, H]
enum Output { x };             // f32, f16 or bf16 [T, H]

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::embed
