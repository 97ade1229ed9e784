// Kernels of a profile under the measured roofs of a machine: where each stands, what keeps it there, what it would gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rafter/machine/machine.h"
#include "rafter/measure/profiles/bottleneck.h"
#include "rafter/measure/profiles/profile.h"
#include "rafter/report/page.h"

namespace rafter {

// The roofs of a machine as the judgement takes them: DRAM and L2 at their widest, each unit's burst rate.
KernelRoofs kernel_roofs(const Machine& machine);

// A kernel with its place in the chart. Bytes and FLOPs are the measured ones where the file has them, else what the maths
// needs.
struct PlacedKernel {
  KernelRecord kernel;  // folded over its launches
  Bottleneck bottleneck;
  Quantity bytes, flops;  // over all launches
  Quantity intensity;     // FLOP/byte
  Quantity flops_per_second, bytes_per_second;
  Quantity share;         // of the time of all kernels together
  Quantity gain_seconds;  // over all launches, what they would save at the roof
  bool measured_bytes = false, measured_flops = false;
  // Whether it has a place on a log-log chart: its time, bytes and FLOPs are all known and above zero.
  bool plottable() const { return intensity && flops_per_second && *intensity > 0 && *flops_per_second > 0; }
};

struct Roofline {
  Profile profile;                    // its kernels moved into `kernels`
  std::optional<Machine> machine;     // whose roofs these are; none: what the profiler itself says is all there is
  std::vector<PlacedKernel> kernels;  // the longest first, those of unknown time last
  double seconds = 0;                 // of all timed kernels
};

Roofline place_kernels(Profile profile, std::optional<Machine> machine);

// "aten::mm: nvjet_tst_128x256", or the kernel's short name where no op is known or it begins with it.
std::string label(const KernelRecord& kernel);
// The file has no counters: bytes and FLOPs, where there are any, are what the maths needs.
bool by_needs_alone(const Roofline& roofline);

// Roofs, a table of the `most` longest kernels (0: all), a line of evidence for each, and what was left out.
std::string roofline_text(const Roofline& roofline, size_t most);
// Schema "rafter.roofline/1".
std::string roofline_json(const Roofline& roofline);
Page roofline_page(const Roofline& roofline);

}  // namespace rafter
