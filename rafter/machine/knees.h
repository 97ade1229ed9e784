// Capacities from a curve: where latency or bandwidth over the size of a working set leaves a plateau.
//
// A plateau is a stretch on which the curve hardly slopes; a knee is the end of one, beyond which the curve gets clearly worse.
// Past a cache's capacity C a random chase misses at a rate of 1 - C / x at first, so the curve leaves its plateau at a slope
// and not in a step; the knee is where the line through the first part of the rise meets the plateau. All is done on logarithms
// of x and y, and noise is judged by how far neighbours lie apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rafter {

struct KneePoint {
  double x = 0, y = 0;  // both positive; others are passed over
};

enum class Worse : int8_t { higher = 1, lower = -1 };  // higher latency, lower bandwidth

struct KneeRule {
  double flat = 0.12;          // d ln y / d ln x of a plateau: up to 8.7% a doubling
  double window = 2;           // a slope is fitted over this factor of x, and at least
  int window_points = 5;       // so many points
  double least_change = 0.15;  // relative change that makes a knee
};

struct Plateau {
  double first = 0, last = 0;  // x
  double y = 0;                // the median
  int points = 0;
};

struct Knee {
  double x = 0;                   // the capacity
  double inside = 0, beyond = 0;  // the last x that still lies on the plateau, the first that surely does not
  Plateau before;
  double after = 0;      // y of the plateau that follows; of the curve's end where none does
  bool settles = false;  // a plateau follows
  // 0 to 1, no probability: the change against the noise, the points on the plateau, half where no plateau follows.
  double sure = 0;
};

// Relative noise of a curve: half of the steps between neighbours, less their trend, are smaller than 0.95 times this.
double curve_noise(std::span<const KneePoint> curve);

// The plateaus in order of x, those that join without a change of level taken together. The points need no order.
std::vector<Plateau> find_plateaus(std::span<const KneePoint> curve, const KneeRule& rule = {});

// The knees in order of x. None where there are fewer than twice the points of a window, or no plateau.
std::vector<Knee> find_knees(std::span<const KneePoint> curve, Worse worse, const KneeRule& rule = {});

// "19.4 ns up to 200 KiB, 145 ns on the next plateau; surely left at 216 KiB; 98 points before it, sure 1.00". The curve's x
// are bytes, its y of `unit`.
std::string describe(const Knee& knee, const std::string& unit);

}  // namespace rafter
