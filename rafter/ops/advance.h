// advance: the end of a decode step. The sampled tokens become the next step's input and every position moves on by
// one, all in device memory, so that steps follow each other with no word from the host.
//   tokens[t] = next[t];  positions[t] += 1 where it is not below 0
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::advance {

enum Input { next };                // i32 [T]
enum Output { tokens, positions };  // i32 [T] each; positions are in-out

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::advance
