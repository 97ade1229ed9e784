// Two groups in one set of values, such as the L2 lines that lie near an SM and those that lie far.
#pragma once

#include <span>

namespace rafter {

struct TwoGroups {
  double low = 0, high = 0;  // medians of the groups
  double low_share = 0;      // of the values, 0 to 1
  // How far apart, in units of the groups' own spreads (IQRs) together. Values of one group cut in two give about 1; from
  // kClear on there are two.
  double gap = 0;
  static constexpr double kClear = 2;
  bool clear() const { return gap >= kClear; }
};

// The cut that leaves the least variance inside the groups (Otsu, 1979). All zero for fewer than four values.
TwoGroups split_in_two(std::span<const double> values);

}  // namespace rafter
