#include "rafter/machine/cuda/probes.h"

#include "rafter/machine/cuda/probe_list.h"

namespace rafter::cuda {

namespace {

constexpr Probe kProbes[] = {
    {"dram", "DRAM bandwidth: read, write, copy, triad by size; strided and random access", 20, probe_dram},
    {"latency", "latency of a chase by size", 12, probe_latency},
    {"onchip", "latency of what lies on the chip", 2, probe_onchip},
    {"l2map", "L2 latency by SM", 3, probe_l2_map},
    {"cache", "bandwidth of caches", 10, probe_cache},
    {"shared", "bank conflicts", 1, probe_shared},
    {"spill", "spills", 1, probe_spill},
    {"math", "arithmetic by unit: FP32, FP64, FP16 and BF16 pairs, integers, special functions; burst and sustained", 13,
     probe_math},
    {"tensor", "tensor cores of one warp (mma.sync) by type; burst and sustained", 10, probe_tensor},
    {"wgmma", "Hopper's tensor cores of four warps (wgmma) by type; burst and sustained", 8, probe_wgmma},
    {"overhead", "kernel launches, graph nodes, dependent launches, grid barriers, events, round trips, small copies", 4,
     probe_overhead},
    {"link", "copies between host and GPU, pinned and pageable, and between GPUs, by size", 6, probe_link},
};

}  // namespace

std::span<const Probe> probes() { return kProbes; }

}  // namespace rafter::cuda
