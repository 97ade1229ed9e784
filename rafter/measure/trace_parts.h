// A traced step of a model as the parts of a waterfall: a class for each op's name, over all layers.
#pragma once

#include "rafter/measure/recording/waterfall.h"
#include "rafter/measure/trace.h"

namespace rafter {

// Gaps within a graph are no launch's fault; those of an eager step have a cause that nobody recorded. The step is the one
// measured without a recorder; what recording adds to it is a part of its own, taken off.
StepParts parts_of(const StepTrace& trace);

// The step as a sum, with a bar for every op's name.
Waterfall step_waterfall(const StepTrace& trace);

}  // namespace rafter
