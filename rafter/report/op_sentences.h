// What each op of a decode step does, in one sentence for a reader who has not met it.
#pragma once

#include <string>

#include "rafter/ops/op.h"

namespace rafter {

// By the op's name where it says more than its kind ("qkv", "ffn_down"), else by kind.
std::string what_it_does(const std::string& name, OpKind kind);

}  // namespace rafter
