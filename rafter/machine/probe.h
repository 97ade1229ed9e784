// Probes: each measures one side of a device and adds its figures to a Machine.
//
// A new probe is a function in probe_NAME.cpp (CPU) or cuda/probe_NAME.cu, and a line in the table of probe.cpp or
// cuda/probes.cpp. It measures through Probing, which decides how long and how often, so that --quick holds for all.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/device/device.h"
#include "rafter/machine/machine.h"

namespace rafter {

struct ProbeOptions {
  bool quick = false;                  // fewer points and samples: under 20 s on a GPU, where all of it takes under two minutes
  std::vector<std::string> only = {};  // names of probes; empty runs all
};

// What a probe works with.
class Probing {
 public:
  Probing(Device& device, bool quick, Machine& machine, std::function<void(double, const std::string&)> progress);

  Device& device() const { return device_; }
  const DeviceInfo& info() const { return machine_.device; }
  bool quick() const { return quick_; }
  // For one figure. `share` scales the time it may take: a curve of many points gives each point less.
  StopRule rule(double share = 1) const;

  void add(Figure figure) { machine_.figures.push_back(std::move(figure)); }
  const Machine& so_far() const { return machine_; }
  // Where this probe stands, 0 to 1, and what it measures now.
  void progress(double fraction, const std::string& what) const { progress_(fraction, what); }

 private:
  Device& device_;
  bool quick_;
  Machine& machine_;
  std::function<void(double, const std::string&)> progress_;
};

struct Probe {
  std::string_view name;  // "dram"
  std::string_view what;  // one line for --help and the report
  double seconds = 1;     // about what it takes in full, for the progress bar
  void (*run)(Probing&) = nullptr;
};

// Those that make up a Machine.
std::span<const Probe> probes(DeviceKind kind);
// What the chapter on threads shows: how the shape of a launch decides what a memory-bound kernel gets.
std::span<const Probe> thread_sweeps(DeviceKind kind);

using ProbeProgress = std::function<void(double fraction, const std::string& what)>;

// Runs the probes chosen, in order. An unknown name in `only` is an input Error that lists the names. A probe that the device
// can't run (wgmma on an older GPU) adds nothing.
Machine probe(Device& device, const ProbeOptions& options, const ProbeProgress& progress = {});
Machine run_probes(Device& device, std::span<const Probe> list, bool quick, const ProbeProgress& progress = {});

}  // namespace rafter
