// Reads a recording's file (recording_format.h) piece by piece: it may be many times larger than memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "rafter/measure/recording/recording.h"

namespace rafter {

// Tells `sink` the names and events in the file's order. A file that ends early, wherever it does, gives its whole chunks and a
// note that is not `complete`; the note of a process that was killed may be empty. An input Error where it cannot be read, is
// no recording, is of another version, or is damaged; what the sink was told until then should be dropped.
RecordingNote read_recording(const std::string& path, RecordingSink& sink);

// The same of bytes in memory; `what` names them in errors.
RecordingNote read_recording(std::span<const std::byte> bytes, const std::string& what, RecordingSink& sink);

}  // namespace rafter
