// What keeps a kernel from being faster, named from what a profiler recorded of it, with the evidence; and what it would gain.
//
// The order of judgement, the first that holds is named:
//   1. launch       it is over before it has begun: a few microseconds, or less than the idle time before it, and at no roof
//   2. spills       much of its traffic is registers put away in local memory
//   3. uncoalesced  much of all the sectors it moves, loads and stores together, holds nothing that it asked for
//   4. conflicts    its accesses to shared memory wait for each other, and no unit is busier than L1, which shared memory is in
//   5. a roof       DRAM, L2, the tensor pipe, FP32 or FP64, whichever is highest, where one is near its peak
//   6. latency      everything is known to be far from its peak: too few warps, or each waits. Where all that is known is what
//                   the maths needs, it may as well do more than that, and the evidence says so
//   7. unknown      and which metrics would tell
// Waste (2 to 4) comes before the roof, because the roof is then reached with bytes that need not move: removing the waste
// is what helps. It counts only where the unit that it wastes is busy or not known, and no pipe (tensor, FP32, FP64) at its
// roof is busier. Where a file has not how many sectors each way moved, 3 is judged by the use of the worse way, but not of a
// kernel that is at the measured roof of memory with the bytes it has.
// A kernel at a roof is never called launch-bound: it cannot do more in its few microseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rafter/measure/profiles/kernel_record.h"

namespace rafter {

enum class Bound : uint8_t { dram, l2, tensor, fp32, fp64, latency, launch, uncoalesced, bank_conflicts, spills, unknown };

// "DRAM bandwidth", "launch-bound" ...
const char* name(Bound limit);

// The measured roofs of the machine that the kernel ran on; what is not known is left out of the judgement.
struct KernelRoofs {
  Quantity dram_bytes_per_second, l2_bytes_per_second;
  Quantity fp32_flops_per_second, fp64_flops_per_second, fp16_flops_per_second;
  std::map<std::string, double> tensor_flops_per_second;  // by dtype, as KernelRecord::tensor_flops
};

// All thresholds of the judgement. They part kernels that a specialist would call by different names; between them there
// is no sharp line in the hardware.
struct LimitThresholds {
  double near_roof = 60;            // percent: Nsight Compute's own guide takes 60 for "close to its peak"
  double little_room = 80;          // percent of the measured roof of a memory: above, what it moves can hardly be waste
  double busy = 30;                 // percent from which waste in a memory unit is worth removing
  double short_seconds = 5e-6;      // about two launches from a stream: nothing is gained by a faster body
  double spill_share = 0.10;        // of the bytes through L1, or of the instructions
  double wasted_sectors = 0.25;     // of all global sectors: below, to remove the waste hardly matters
  double sector_use = 50;           // percent, of one way alone: below, half of each sector or more is moved for nothing
  double sectors_per_request = 16;  // above, not even 16-byte loads of a warp explain it (32 lanes x 16 B = 16 sectors)
  double conflict_share = 0.25;     // of the wavefronts of shared memory
  double low_occupancy = 40;        // percent of the warps an SM can hold
};

struct Bottleneck {
  Bound limit = Bound::unknown;
  std::string evidence;                 // one line: "moves 1.07 GB in 312 us: 3.44 TB/s, 82% of the measured DRAM roof"
  Quantity roof_seconds;                // per launch, at the roof that it is nearest to; unknown where no roof applies
  Quantity fraction;                    // roof_seconds over seconds; above 1 where caches served what DRAM would have
  std::string roof;                     // which: "DRAM", "tensor bf16", "DRAM, the profiler's peak", "the file's floor"
  std::vector<std::string> would_tell;  // for unknown: what to collect
};

Bottleneck judge(const KernelRecord& kernel, const KernelRoofs& roofs, const LimitThresholds& thresholds = {});

}  // namespace rafter
