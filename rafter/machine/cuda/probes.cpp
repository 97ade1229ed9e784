#include "rafter/machine/cuda/probes.h"

#include "rafter/machine/cuda/probe_list.h"

namespace rafter::cuda {

namespace {

constexpr Probe kProbes[] = {
    {"dram", "DRAM bandwidth: read, write, copy, triad by size; strided and random access", 20, probe_dram},
};

}  // namespace

std::span<const Probe> probes() { return kProbes; }

}  // namespace rafter::cuda
