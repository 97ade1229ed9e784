// Finds the steps of a process in its recording: a token, an iteration of training, whatever it does again and again on the
// GPU.
//
// By itself: the launches of the stream with the most GPU time are a sequence, and the step is a period of it (period.h). Of
// nested periods (layers within a step) it is, of those that go on until late in the recording where there are any, the first
// that applies:
//   1. the shortest that begins, nearly every time, after the host has waited for the GPU: it looks at a token, a loss
//   2. the shortest that begins, nearly every time, with the launch of a graph
//   3. the longest
// Launches are alike that have one name, grid, block and graph node; where that repeats less than names alone do, names count:
// a grid may grow with the context. Where nothing repeats exactly, steps that begin alike after waits are taken, whatever their
// lengths; else the whole recording is one step, and says so.
// By the user: each NVTX range of a name is a step. A kernel belongs to the range in which its thread launched it, or, where
// calls were not recorded, to the range in which it began.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rafter/measure/recording/launch_log.h"
#include "rafter/measure/recording/range_steps.h"
#include "rafter/measure/recording/recording.h"

namespace rafter {

struct StepChoice {
  std::string range;  // NVTX ranges of this name are the steps; empty: find them
  int64_t skip = 0;   // of the steps that were found
  int64_t steps = 0;  // that many after those; 0: the last ones, as many as a report needs
};

struct Step {
  int64_t start_ns = 0, end_ns = 0;  // from its first launch's start to the start of whatever came after its last
  int64_t activities = 0;            // on its stream
};

struct StepWindow {
  std::vector<Step> steps;  // in the order of time
  int64_t found = 0;        // in the whole recording, the chosen ones among them
  bool whole = false;       // nothing repeats: the one step is all there is
  int32_t device = -1;
  uint32_t context = 0, stream = 0;  // on which the steps were found
  int64_t untimed = 0;               // GPU activities that could not be placed
  std::string how;                   // a sentence
  bool empty() const { return steps.empty(); }
};

// Keeps 24 bytes of each GPU activity, and 14 more within find() (10 million: 380 MB), when waits ended, 16 bytes of each
// launch call where ranges are asked for, and nothing else.
class StepFinder : public RecordingSink {
 public:
  explicit StepFinder(StepChoice choice = {}) : choice_(std::move(choice)), ranges_(choice_.range) {}

  void take_name(uint32_t number, std::string_view text) override;
  void take(const RecordedEvent& event) override;

  // Once, at the end. Empty where nothing was timed on a GPU. An input Error where no range has the name, or as few steps were
  // found as are to be skipped.
  StepWindow find();

 private:
  StepChoice choice_;
  LaunchLog log_;
  RangeSteps ranges_;
  std::vector<bool> is_wait_;                   // by a name's number
  std::vector<int64_t> waits_, waiting_calls_;  // when they ended; calls count where waits were not recorded
};

}  // namespace rafter
