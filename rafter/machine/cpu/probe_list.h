// The probes of the CPU, one a file: cpu/probes.cpp says what each measures.
#pragma once

#include "rafter/machine/probe.h"

namespace rafter::cpu {

void probe_bandwidth(Probing& probing);
void probe_latency(Probing& probing);
void probe_math(Probing& probing);
void probe_overhead(Probing& probing);

// Not part of a Machine: what the chapter on threads shows.
void sweep_threads(Probing& probing);

}  // namespace rafter::cpu
