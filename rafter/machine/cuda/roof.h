// Measures one roof of arithmetic twice, since a GPU at full work soon meets its power limit and lowers its clock.
//
// burst: a kernel of two milliseconds after a pause in which one thread spins, so that the clock is up and the power is not:
// the rate at the full clock. sustained: kernels of ten milliseconds back to back, after 0.8 s of the same: the rate that a
// long prefill gets. The clock is read inside the measured kernel, by block 0 around its loop.
#pragma once

#include <functional>
#include <string>

#include "rafter/device/device.h"
#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/probe.h"

namespace rafter::cuda {

struct Roof {
  std::string name, unit;
  double per_round = 0;  // operations of one round over the whole GPU
  // Runs `rounds` rounds on every SM and stamps them. A kernel that has no code for this GPU leaves the stamp as it is.
  std::function<void(Stream&, int rounds, Stamp* stamp)> launch;
  std::string remark;
};

// Adds both figures, or none where there is no code for this GPU.
void add_roof(Probing& probing, GpuTimer& timer, const Roof& roof);

}  // namespace rafter::cuda
