// Where the time of a recorded step goes: each kernel, copy and fill, the gaps between them and why they are there, and the
// host.
//
// The GPU is one: of kernels that overlap, on one stream or on several, a moment belongs to the one that began first
// (attribution.h), so that own times, gaps and the host's time add up to the step. A gap before a launch is the
//   launch's  where its call returned only after all earlier work had ended: the GPU waited for the host
//   ramp's    where it was queued before, or is a later node of the same graph launch: work drains, a dependency is seen,
//   blocks
//             start
//   unknown   where the call was not recorded
// The time from the end of a step's last work to the next step's first launch is the host's, and no kernel's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rafter/measure/recording/window_events.h"

namespace rafter {

enum class GapCause : uint8_t { launch, ramp, unknown };
using Gaps = std::array<double, 3>;  // seconds, by cause
double total(const Gaps& gaps);

// Seconds a step: means over the middle half of the steps by duration, so that all parts add up to StepProfile::seconds.
struct ProfiledLaunch {
  std::string name;
  RecordedEvent sample;  // one of them: its kind, grid, block, registers, bytes ...
  double launches = 1;   // a step
  double own_seconds = 0;
  double iqr = 0;             // of own_seconds, over all steps
  double hidden_seconds = 0;  // while an earlier one still ran
  Gaps gaps{};                // before it
  // From the end of its call to its start, the median where the GPU stood idle by then; none where it never did.
  std::optional<double> latency_seconds;
};

// A call of the CUDA API, or where those were not recorded a wait, by name.
struct CallTime {
  std::string name;
  double calls = 0, seconds = 0;  // a step; of all threads
};

struct StepProfile {
  std::vector<ProfiledLaunch> kernels;  // by name, copies and fills too; the longest first
  std::vector<ProfiledLaunch> places;   // each launch in its place in the step; empty where steps differ in their launches
  int64_t steps = 0;                    // that were measured
  double seconds = 0;                   // of a step, the mean of the middle half
  double median = 0, iqr = 0;
  double host_seconds = 0;                    // the GPU stood idle until the next step's first launch ran
  std::optional<double> before_call_seconds;  // of those, until the call of that launch began
  std::vector<CallTime> calls;                // the longest first
  int64_t streams = 0;
  bool knows_calls = false;
  std::vector<std::string> remarks;  // what is missing, a sentence each

  double own_seconds() const;
  Gaps gaps() const;
};

StepProfile profile_steps(const WindowEvents& events);

}  // namespace rafter
