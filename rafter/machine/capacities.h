// Capacities of caches and TLBs, read off the curves that a machine's probes measured.
//
// capacity.l1, capacity.l2_near (one partition of L2, where the curve tells it from the whole), capacity.l2; state "latency"
// from the chase, "bandwidth" from the L2 sweep. capacity.tlb at level 1, 2 .. from the chase over pages: the memory that a
// level reaches. Unit B; the spread is the stretch on which the curve leaves its plateau, the remark says how sure it is and
// what is documented. A knee that is not there gives no figure.
#pragma once

#include <string_view>
#include <vector>

#include "rafter/machine/machine.h"

namespace rafter {

// L1 and shared memory together of one SM, from the CUDA programming guide's table of compute capabilities; 0 where unknown.
double documented_l1_bytes(int compute_major, int compute_minor);

// `curve` is "latency.chase", or a bandwidth such as "l2.read".
std::vector<Figure> cache_capacities(const Machine& machine, std::string_view curve);
std::vector<Figure> tlb_capacities(const Machine& machine);

}  // namespace rafter
