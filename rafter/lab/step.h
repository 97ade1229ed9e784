// One step of a model with random weights, traced, as a profile whose kernels can be placed under roofs.
#pragma once

#include <cstdint>
#include <string>

#include "rafter/lab/lab.h"
#include "rafter/measure/profiles/profile.h"

namespace rafter {

struct TracedStep {
  std::string title;    // "One decode step"
  int64_t context = 0;  // tokens in the cache before it
  int64_t prefill = 0;  // tokens of a prefill; 0: a decode step
};

// Of options.model, else Qwen2.5 1.5B in bf16 on a GPU and SmolLM2 135M on the CPU: small enough for either.
Profile traced_step(const LabOptions& options, const TracedStep& step, const ProbeProgress& progress);

}  // namespace rafter
