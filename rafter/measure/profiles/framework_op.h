// What the maths of a framework's op needs, worked out of the inputs that a trace recorded: "aten::mm" of two [4096, 4096] in
// bf16 needs 137 GFLOP and 101 MB.
//
// Bytes: each input is read once and the output written once; the output of an op in place is its first input. Of an input
// whose elements share places (expanded, or windows of it) each place is read once, of a table of rows as many rows as are
// asked for. Small outputs beside the main one (the statistics of a norm, attention's log-sum-exp) are left out.
// FLOPs: 2 m n k of a product, the sum with a bias left out; of attention 2 (d + d_v) for each query and each key that it sees;
// 5 an element of a softmax, 7 of a layer norm, 4 of an RMS norm; 1 of anything else that computes an element (exp, gelu, a
// term of a sum), and none of a copy.
//
// An op's needs are those of all its kernels together. Where it launched several, such as a product split along k and the
// sum of its parts, a reader gives them to the longest alone, and nothing is counted twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/measure/profiles/recorded_input.h"

namespace rafter {

struct OpNeeds {
  double flops = 0, bytes = 0;
  double untyped_elements = 0;  // read or written as well, of a type that the trace does not say: those of a list of tensors
  std::string dtype;            // of the maths: "bf16"; f32 may run as tf32, which only the kernel tells
};

// Nothing for an op that is not known here, and for one whose inputs do not say enough or cannot be.
std::optional<OpNeeds> needs_of(std::string_view op, const std::vector<RecordedInput>& inputs);

}  // namespace rafter
