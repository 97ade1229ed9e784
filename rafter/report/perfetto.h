// A window of a recording as a trace that Perfetto and chrome://tracing open (Chrome's JSON trace format).
//
// Of the GPU: the steps, and a track for each stream, with more of them where launches on a stream overlap (programmatic
// dependent launch), since a track shows only what is nested or apart. Of the host: calls and NVTX ranges for each thread. An
// arrow leads from a call to the first launch that it caused, for graphs to the first node. Times are microseconds to the
// nanosecond, from the first event on. Nothing is built up in memory but the order of events.
#pragma once

#include <ostream>

#include "rafter/measure/recording/explained_step.h"
#include "rafter/measure/recording/window_events.h"

namespace rafter {

// The step's floors stand beside its kernels. The caller looks at the stream for whether all could be written.
void write_perfetto(std::ostream& out, const WindowEvents& events, const ExplainedStep& step, const RecordingNote& note);

}  // namespace rafter
