// Records the process that it was injected into, into a file of its own.
//
// The process is somebody else's program: nothing here prints, throws or changes what the program sees. It may end in any way:
// by exit(), and the recording is closed; by _exit() or a signal, and what was flushed a moment before is kept; by fork(), and
// the child, which has a copy of everything here, leaves the file alone.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "rafter/measure/cuda/activity_recorder.h"
#include "rafter/measure/recording/recording_writer.h"

namespace rafter::inject {

class InjectedRecorder {
 public:
  // Creates the file in `folder` and starts to record; where that fails, the file's note says why.
  explicit InjectedRecorder(const std::string& folder);

  // Closes the recording. Called at exit, so any thread may still run.
  void finish() noexcept;
  // In a forked child: nothing is done from here on.
  void abandon() noexcept;

 private:
  void start() noexcept;
  void flush_now_and_then();
  RecordingNote note() const;

  RecordingWriter writer_;
  cuda::ActivityRecorder recorder_;
  RecordingNote about_;  // what the recorder does not know of
  std::thread flusher_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool finished_ = false;
  bool abandoned_ = false;
};

}  // namespace rafter::inject
