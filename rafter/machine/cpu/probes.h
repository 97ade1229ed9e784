// The probes of the CPU.
#pragma once

#include <span>

#include "rafter/machine/probe.h"

namespace rafter::cpu {

std::span<const Probe> probes();
std::span<const Probe> thread_sweeps();

}  // namespace rafter::cpu
