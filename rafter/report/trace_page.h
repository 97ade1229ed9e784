// A traced step as a page: what was asked of the machine, each op and what it does, the step in time, its kernels under the
// roofs, the step as a sum, and which op to work on first.
#pragma once

#include <string>

#include "rafter/measure/trace.h"
#include "rafter/report/page.h"
#include "rafter/report/roofline.h"

namespace rafter {

// `placed`: the same step's kernels under a machine's roofs. `model`: "Qwen2.5 1.5B bf16".
Page trace_page(const StepTrace& trace, const std::string& model, const Roofline& placed);

}  // namespace rafter
