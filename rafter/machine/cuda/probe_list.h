// Every probe of a CUDA GPU; one file each, of the same name.
#pragma once

#include "rafter/machine/probe.h"

namespace rafter::cuda {

void probe_dram(Probing& probing);
void probe_math(Probing& probing);
void probe_tensor(Probing& probing);
void probe_wgmma(Probing& probing);
void probe_overhead(Probing& probing);
void probe_link(Probing& probing);
void probe_latency(Probing& probing);
void probe_onchip(Probing& probing);
void probe_l2_map(Probing& probing);
void probe_cache(Probing& probing);
void probe_shared(Probing& probing);
void probe_spill(Probing& probing);
void probe_atomics(Probing& probing);

// Not part of a Machine: what the chapter on threads shows.
void sweep_threads(Probing& probing);

}  // namespace rafter::cuda
