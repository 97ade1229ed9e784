// What the hardware counted of each kernel: bytes through DRAM and L2, how busy the tensor pipes were, how many warps were
// there.
//
// A model of an op says what must move; these say what did. Kernels are run one at a time while they are counted, each with
// the caches as the one before left them, so counted times are not those of the step, and counted bytes are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rafter/device/device.h"

namespace rafter {

struct KernelCounters {
  std::optional<double> seconds, cycles;
  std::optional<double> dram_bytes_read, dram_bytes_written;
  std::optional<double> l2_bytes;         // asked for by the SMs
  std::optional<double> l2_fabric_bytes;  // between the partitions of L2
  std::optional<double> l1_bytes;
  std::optional<double> tensor_percent;     // of the cycles in which the SM was active
  std::optional<double> occupancy_percent;  // warps, of those that an SM can hold
  std::optional<double> active_percent;     // cycles with a warp on the SM, of all
  std::optional<double> local_loads;        // instructions: spills and indexed arrays

  std::optional<double> dram_bytes() const;
};

// Of several kernels: sums, and percentages weighted by cycles. A quantity that one of them lacks is unknown.
KernelCounters together(std::span<const KernelCounters> kernels);

struct CounterRun {
  std::vector<KernelCounters> kernels;  // in the order of their launches
  std::string why_not;                  // counters could not be read, and what would help; empty where they were
};

// The metric that tells each quantity on a chip, by the chip's name ("GH100"): names differ between generations. Quantities
// that the chip does not count are left out. Needs no GPU, but CUPTI's host library; empty where that is missing.
std::map<std::string, std::string> counter_metrics(const std::string& chip);

// Counts the kernels that `work` launches on `device`, at most `most` of them. Waits for all of them. Never throws for want of
// rights or of a library: `why_not` says what is missing and the remedy.
CounterRun count_kernels(Device& device, int64_t most, const std::function<void()>& work);

}  // namespace rafter
