// Runs CPU kernels as a machine of lesser abilities would: on each Highway target that this one supports.
#pragma once

#include "rafter/base/simd_targets.h"
//
#include <hwy/highway.h>

#include <string>
#include <vector>

namespace rafter::testing {

inline std::vector<int64_t> cpu_targets() { return hwy::SupportedAndGeneratedTargets(); }

inline std::string target_name(int64_t target) { return hwy::TargetName(target); }

class OnTarget {
 public:
  explicit OnTarget(int64_t target) { set(target); }
  ~OnTarget() { set(0); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;

 private:
  static void set(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace rafter::testing
