// The probes of a CUDA GPU.
#pragma once

#include <span>

#include "rafter/machine/probe.h"

namespace rafter::cuda {

std::span<const Probe> probes();
std::span<const Probe> thread_sweeps();

}  // namespace rafter::cuda
