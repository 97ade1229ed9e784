// The trace that torch.profiler exports: JSON in the Chrome format, its kernels with the op that launched each.
//
// Kernels are joined to ops by "External id", and where a kernel has none, through the runtime call of the same
// correlation. Ops say their inputs only where the profiler ran with record_shapes=True: a kernel then has what the maths of
// its op needs (framework_op.h). Of several kernels of one op the longest has it all, the others nothing, so that nothing is
// counted twice.
#pragma once

#include <string>
#include <string_view>

#include "rafter/measure/profiles/profile.h"

namespace rafter {

Profile read_pytorch_trace(std::string_view json, const std::string& path);

}  // namespace rafter
