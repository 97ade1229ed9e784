// What no kernel can beat: the time a cost takes at a machine's measured roofs.
//
//   floor = max( read / read roof + written / write roof,  sum over units of FLOPs / the unit's rate )
//
// Memory and arithmetic overlap, so the longer of the two counts; reads and writes share the same wires, so they add up. The
// DRAM roof grows with how much is streamed (an H200 reads 256 MiB at 3.8 TB/s and 8 GiB at 4.5), so the working set picks the
// point on the curve: an op inside a step streams at the step's roof, an op alone at its own size's.
// The method is the roofline model of Williams, Waterman and Patterson (2009), with measured roofs.
#pragma once

#include <optional>
#include <string_view>

#include "rafter/machine/machine.h"
#include "rafter/ops/cost.h"

namespace rafter {

enum class FloorLimit : uint8_t { memory, math };
std::string_view name(FloorLimit limit);

struct Floor {
  double seconds = 0;
  double memory_seconds = 0, math_seconds = 0;
  FloorLimit limit() const { return math_seconds > memory_seconds ? FloorLimit::math : FloorLimit::memory; }
  // floor over time, 1 at the roof; nullopt where the time is no positive number.
  std::optional<double> fraction_of(double measured_seconds) const;
};

struct FloorContext {
  double working_set_bytes = 0;  // 0: the cost's own bytes
  bool in_cache = false;         // all of it lies in the L2 cache (the CPU: the last level) already
};

// nullopt where the machine lacks a figure that the cost needs: one that was never probed, or a unit that it does not have.
std::optional<Floor> floor(const Cost& cost, const Machine& machine, const FloorContext& context = {});

}  // namespace rafter
