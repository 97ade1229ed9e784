// A measured machine as a table for people, and two of them side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rafter/machine/machine.h"

namespace rafter {

// A line about the device, then one table for each kind of figure. A name with many points shows a few of them, spread over
// the axis, and says how many there are.
std::string machine_text(const Machine& machine);

// "3.01 TB/s", "21.4 ns": a value in its figure's unit.
std::string value_text(const Figure& figure, double value);

enum class Change : uint8_t { same, faster, slower, unclear, larger, smaller };  // the last two of capacities
std::string_view name(Change change);

// One figure in two machines; null where one lacks it, and `change` says nothing then.
struct FigurePair {
  const Figure *a = nullptr, *b = nullptr;
  Change change = Change::unclear;
  double ratio = 0;  // b over a; 0 where there is none
};

// Figures paired by key in a's order, then those of b alone. Tolerance: 2% for bandwidths and rates, 5% for times and
// capacities. Points into both machines.
std::vector<FigurePair> compare_machines(const Machine& a, const Machine& b);

std::string compare_text(const Machine& a, const Machine& b, const std::vector<FigurePair>& pairs);
// Schema "rafter.machine_compare/1".
std::string compare_json(const Machine& a, const Machine& b, const std::vector<FigurePair>& pairs);

}  // namespace rafter
