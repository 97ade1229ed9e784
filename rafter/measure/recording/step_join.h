// One step of a plan, recorded many times, joined with the plan's ops: which kernels each op launches, and how long they and
// the gaps before them are within the step.
//
// A step is an unbranched chain of launches in one stream, so that the n-th activity of every repeat is the same launch. A
// first repeat is recorded with every launch tagged by its op, launched one by one; the others as the executor runs them. The
// join is by position, and checked by name: a repeat whose names are not those of the tagged one is refused, not guessed at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rafter/measure/recording/recording.h"

namespace rafter {

// The GPU's activities of a recording, in the order of their starts; nothing else is kept.
class GpuActivities : public RecordingSink {
 public:
  void take_name(uint32_t number, std::string_view text) override;
  void take(const RecordedEvent& event) override;

  // Sorted by start, then end. Those that were not timed are not among them.
  std::vector<RecordedEvent> sorted() const;
  std::string name_of(const RecordedEvent& event) const;
  int64_t untimed() const { return untimed_; }
  void clear() { events_.clear(); }

 private:
  std::vector<RecordedEvent> events_;
  std::vector<std::string> names_;
  int64_t untimed_ = 0;
};

// Means over the middle half of the repeats by duration, so that all of them add up to `seconds`.
struct RecordedOp {
  std::vector<std::string> kernels;  // that it launches, in order
  double own_seconds = 0;            // of its kernels, moments in which an earlier kernel still ran left out
  double gap_seconds = 0;            // before them, in which nothing ran
  double hidden_seconds = 0;         // of its kernels, while an earlier one still ran
  double iqr = 0;                    // of own_seconds
};

// One activity of a repeat, from the repeat's first start on.
struct StepSpan {
  size_t op = 0;
  std::string kernel;
  double start_seconds = 0, end_seconds = 0;
};

struct RecordedStep {
  std::vector<RecordedOp> ops;  // one for each op of the plan
  double seconds = 0;           // from the first kernel's start to that of the next repeat
  double iqr = 0;
  double between_seconds = 0;  // from the last kernel's end to the next repeat's first start; part of `seconds`
  int64_t repeats = 0;
  std::vector<StepSpan> example;  // the middle repeat, as it ran
  std::string why_not;            // there was no recording, or it could not be joined; all else is empty then
};

// `tagged`: one repeat, each activity's tag the op's index and one. `repeats`: any number of them in a row, at least two.
RecordedStep join_step(const GpuActivities& tagged, const GpuActivities& repeats, size_t ops);

}  // namespace rafter
