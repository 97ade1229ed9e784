// Runs one kernel on one case and compares with the double reference: outputs poisoned with NaN, guard bands around every
// buffer, fresh random inputs, operands as misaligned and strided as the case asks.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "rafter/ops/registry.h"
#include "tests/support/op_case.h"

namespace rafter::testing {

struct Outcome {
  bool supported = false;
  std::string fault;                            // empty where all is well
  std::vector<std::vector<std::byte>> outputs;  // what the kernel wrote, row after row without slack
};

// Fills, launches, reads back, compares. The same seed gives the same inputs.
Outcome run_case(const Kernel& kernel, const OpCase& test, DeviceId device, uint64_t seed);

// The kernel over all cases of its op: gtest failures name kernel and case. The lowest step must support every case.
// Skips, saying why, where the device is absent.
void check_kernel(const Kernel& kernel);

// Every registered kernel of the kind; there must be one.
void check_all_kernels(OpKind kind, DeviceKind device);

}  // namespace rafter::testing
