// A recorded process and its step as text for people and as JSON.
#pragma once

#include <string>

#include "rafter/measure/recording/explained_step.h"
#include "rafter/measure/recording/window_events.h"
#include "rafter/report/page.h"

namespace rafter {

// All that is told of one process. The note is the recording's.
struct RecordedProcess {
  RecordingNote note;
  StepWindow window;
  ExplainedStep step;
};

// What was recorded and how the step was found; a table of the `most` longest kernels (0: all); the step as a sum, a bar a
// line; which kernel first; the host's calls; what is missing.
std::string recording_text(const RecordedProcess& process, size_t most);

// Schema "rafter.step/1": every kernel, every launch in its place, every bar.
std::string recording_json(const RecordedProcess& process, const std::string& command);

// The same as a page, with a timeline of the window's middle step.
Page recording_page(const RecordedProcess& process, const WindowEvents& events);

}  // namespace rafter
