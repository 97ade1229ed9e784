#include "rafter/machine/cuda/probes.h"

#include "rafter/machine/cuda/probe_list.h"

namespace rafter::cuda {

namespace {

constexpr Probe kProbes[] = {
    {"dram", "DRAM bandwidth: read, write, copy, triad by size; strided and random access", 20, probe_dram},
    {"latency", "latency of L1, L2 and DRAM by size; of TLB misses; capacities of L1, L2 and TLBs", 16, probe_latency},
    {"onchip", "latency of registers, shared memory, constants, a neighbour's shared memory, a bulk copy", 2, probe_onchip},
    {"l2_map", "latency of L2 by SM, of its near and its far partition", 1, probe_l2_map},
    {"cache", "bandwidth of shared memory, L1, L2 by size, a neighbour's shared memory, constants", 10, probe_cache},
    {"shared", "shared memory bank conflicts, 1 to 32 ways", 3, probe_shared},
    {"spill", "the price of register spills", 1, probe_spill},
    {"atomics", "atomic additions a second, global and shared, by contention", 4, probe_atomics},
    {"math", "arithmetic by unit: FP32, FP64, FP16 and BF16 pairs, integers, special functions; burst and sustained", 13,
     probe_math},
    {"tensor", "tensor cores of one warp (mma.sync) by type; burst and sustained", 10, probe_tensor},
    {"wgmma", "Hopper's tensor cores of four warps (wgmma) by type; burst and sustained", 8, probe_wgmma},
    {"overhead", "kernel launches, graph nodes, dependent launches, grid barriers, events, round trips, small copies", 4,
     probe_overhead},
    {"link", "copies between host and GPU, pinned and pageable, and between GPUs, by size", 6, probe_link},
};

constexpr Probe kThreadSweeps[] = {
    {"threads", "vector add and saxpy by size, block, grid, occupancy, divergence, access width, loads in flight", 15,
     sweep_threads},
};

}  // namespace

std::span<const Probe> probes() { return kProbes; }
std::span<const Probe> thread_sweeps() { return kThreadSweeps; }

}  // namespace rafter::cuda
