// What the chapters that run a model share: the machine's roofs, and one traced step with its floors.
#pragma once

#include <cstdint>
#include <string>

#include "rafter/lab/lab.h"
#include "rafter/measure/profiles/profile.h"
#include "rafter/measure/trace.h"

namespace rafter {

struct ChosenStep {
  std::string title;    // "One decode step"
  int64_t context = 0;  // tokens in the cache before it
  int64_t prefill = 0;  // tokens of a prefill; 0: a decode step
};

struct LabStep {
  std::string model;  // "Qwen2.5 1.5B bf16"
  StepTrace trace;    // with floors
  Profile profile;    // the same, for roofline_page()
};

// What was kept of this device, unless it was quick and the chapter is not; else it is measured now.
Machine roofs_for(const LabOptions& options, const ProbeProgress& progress);

// Of options.model_file or options.model, else Qwen2.5 1.5B in bf16 on a GPU and SmolLM2 135M on the CPU, with random weights:
// small enough for either.
LabStep traced_step(const LabOptions& options, const ChosenStep& choice, const Machine& machine, const ProbeProgress& progress);

}  // namespace rafter
