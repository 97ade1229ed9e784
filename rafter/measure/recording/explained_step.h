// A recorded step laid against floors: the sum that explains it, and which kernel to work on first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rafter/measure/profiles/bottleneck.h"
#include "rafter/measure/profiles/kernel_record.h"
#include "rafter/measure/recording/step_profile.h"
#include "rafter/measure/recording/waterfall.h"

namespace rafter {

// What is known of the work of a step's kernels: of each, by its full name as recorded, over all launches of one step. Its
// time, launches and gap are the step's; bytes, FLOPs, counters and floor are whoever's who knows them.
using KnownWork = std::map<std::string, KernelRecord>;

struct ExplainedKernel {
  ProfiledLaunch launch;
  std::string short_name;
  Bottleneck bottleneck;
  std::optional<double> floor_seconds;     // a step
  std::optional<double> gain_seconds;      // a step, what it would save at its roof; 0 where it beats it
  std::optional<double> fraction() const;  // floor over own time
  std::string why() const;                 // "launch-bound: runs 2.50 us, about what a launch costs"
};

struct ExplainedStep {
  StepProfile profile;
  std::vector<ExplainedKernel> kernels;  // as in the profile: the longest first
  StepParts parts;
  Waterfall fall;

  // The greatest gain first, then those whose floor is not known, the longest first; copies and fills are not among them.
  std::vector<const ExplainedKernel*> which_first() const;
};

// `floor`: of the whole step, where somebody knows it.
ExplainedStep explain(StepProfile profile, const KnownWork& work = {}, const KernelRoofs& roofs = {},
                      std::optional<double> floor = {});

}  // namespace rafter
