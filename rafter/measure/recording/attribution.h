// Every moment of a stream of kernels belongs to one of them or to none: kernels may overlap (programmatic dependent launch,
// two streams), and their durations then add up to more than the time that passed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rafter {

struct Span {
  int64_t start_ns = 0, end_ns = 0;
};

struct Attributed {
  int64_t own_ns = 0;     // from when all that began earlier had ended, or its start, to its end: never counted twice
  int64_t gap_ns = 0;     // before it, in which nothing ran; 0 for the first
  int64_t hidden_ns = 0;  // of its duration, while an earlier one still ran
};

// One for each span, in the same order. `spans` are sorted by start, then by end. A moment in which several run is the one's
// that began first: a dependent kernel that is launched early waits for the one before it. The sum of own_ns and gap_ns is the
// time from the first start to the last end.
std::vector<Attributed> attribute_once(std::span<const Span> spans);

}  // namespace rafter
