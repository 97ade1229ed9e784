// What a handful of repeated measurements says: the middle and the spread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rafter {

struct Statistics {
  int64_t samples = 0;
  double median = 0;
  double iqr = 0;  // third quartile less the first; quartiles lie on straight lines between the ordered samples
  double mean = 0;
  double sigma = 0;  // of the sample, n - 1 in the denominator; 0 for one sample
  double min = 0, max = 0;
};

// All zero where there are no samples.
Statistics summarise(std::span<const double> samples);

// Which samples are left when the lowest and the highest quarter by value are taken away, in no order; all of fewer than four.
std::vector<size_t> middle_half(std::span<const double> samples);

}  // namespace rafter
