// Cases of every op, as data: the op, its operands and how each is filled. The edge cases belong to the op, so every
// kernel of every device meets the same ones.
#pragma once

#include <string>
#include <vector>

#include "rafter/ops/op.h"

namespace rafter::testing {

// How an operand is filled before the launch.
enum class Fill {
  normal,    // standard normal numbers (weights of block formats: random codes, sane scales)
  lossless,  // numbers that int8 quantisation in blocks of 32 keeps exactly, so quantised kernels can be held to f32 rounding
  positive,  // around 1, as norm weights are
  given,     // `values`, in order
  poison,    // NaN (outputs)
};

struct Operand {
  DType dtype = DType::f32;
  Shape shape = {};  // rank 0: absent
  Fill fill = Fill::normal;
  std::vector<double> values = {};  // for Fill::given
  int64_t slack_bytes = 0;          // rows this much further apart than they need to be
  int64_t misalign = 0;             // bytes that the data start past a 256-byte boundary
  double scale = 1;                 // what random numbers are multiplied by
};

struct OpCase {
  std::string name;
  Op op;
  std::vector<Operand> inputs, outputs;
  double tolerance_factor = 1;  // for cases that amplify rounding
};

// Cases over all dtypes a device is asked to compute in: the CPU only has f32 activations beyond its naive kernels.
std::vector<OpCase> cases(OpKind kind);

}  // namespace rafter::testing
