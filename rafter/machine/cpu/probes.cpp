#include "rafter/machine/cpu/probes.h"

#include "rafter/machine/cpu/probe_list.h"

namespace rafter::cpu {

namespace {

constexpr Probe kProbes[] = {
    {"bandwidth", "bandwidth of DRAM by size, and of each cache: all threads, and one", 13, probe_bandwidth},
    {"latency", "latency of a random walk by its size, of each cache and of DRAM", 8, probe_latency},
    {"math", "FP32, BF16 and int8 rates of the vector units: all threads, and one", 2, probe_math},
    {"overhead", "entering a parallel section, reading the clock", 1, probe_overhead},
};

constexpr Probe kThreadSweeps[] = {
    {"threads", "a triad by threads, by size, by the size of their shares", 5, sweep_threads},
};

}  // namespace

std::span<const Probe> probes() { return kProbes; }
std::span<const Probe> thread_sweeps() { return kThreadSweeps; }

}  // namespace rafter::cpu
