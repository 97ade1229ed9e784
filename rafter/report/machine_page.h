// A measured machine as a page, section by section: the chapters of the lab draw from the same sections.
#pragma once

#include "rafter/machine/machine.h"
#include "rafter/report/page.h"

namespace rafter {

// Each is empty (no blocks) where the machine has no figure of its kind.
Section dram_section(const Machine& machine);      // by size, by stride, at random
Section latency_section(const Machine& machine);   // of a walk by its size, capacities, of each level, by SM
Section cache_section(const Machine& machine);     // bandwidth on the chip
Section conflict_section(const Machine& machine);  // bank conflicts, spills, atomics
Section math_section(const Machine& machine);
Section overhead_section(const Machine& machine);  // launches, barriers, copies, links

Page machine_page(const Machine& machine);

}  // namespace rafter
