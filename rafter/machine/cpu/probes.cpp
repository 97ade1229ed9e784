#include "rafter/machine/cpu/probes.h"

namespace rafter::cpu {

std::span<const Probe> probes() { return {}; }

}  // namespace rafter::cpu
