// What repeats in a sequence of symbols: the periods of its runs, and where one of them occurs.
//
// A decode step is a run of equal layers between a head and a tail, and a recording is a run of equal steps: periods nest.
// All that repeat three times in a row are told; which one is the step is for the caller to judge. Exact repeats are asked for,
// since between two odd kernels there are enough of them, and since a step that differs a little is another step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rafter {

struct Period {
  size_t length = 0;
  size_t first = 0;     // where its longest run begins
  double coverage = 0;  // share of the symbols looked at that lie in its runs
};

// Only so many symbols, the last ones, are looked at: a longer period than a third of that is not found.
inline constexpr size_t kPeriodWindow = size_t{1} << 19;

// The periods that repeat three times in a row, the shortest first; no multiple of a shorter one that does the same. Takes
// O(n log n) for the n symbols looked at.
std::vector<Period> periods_of(std::span<const uint32_t> symbols);

// Where symbols[first, first + length) occurs in all of `symbols`, from left to right, without overlap.
std::vector<size_t> occurrences(std::span<const uint32_t> symbols, size_t first, size_t length);

}  // namespace rafter
