#include "rafter/machine/probe.h"

#include <algorithm>
#include <chrono>

#include "rafter/base/error.h"
#include "rafter/base/threads.h"
#include "rafter/machine/cpu/probes.h"
#if defined(RAFTER_WITH_CUDA)
#include "rafter/machine/cuda/probes.h"
#endif

namespace rafter {

namespace {

std::vector<Probe> chosen(DeviceKind kind, const std::vector<std::string>& only) {
  const std::span<const Probe> all = probes(kind);
  if (only.empty()) return {all.begin(), all.end()};
  std::vector<Probe> some;
  for (const std::string& name : only) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Probe& probe) { return probe.name == name; });
    if (found == all.end()) {
      std::string names;
      for (const Probe& probe : all) names += (names.empty() ? "" : ", ") + std::string(probe.name);
      throw input_error({"the probe " + in_quotes(name, 40), "unknown", "one of " + names});
    }
    some.push_back(*found);
  }
  return some;
}

}  // namespace

Probing::Probing(Device& device, bool quick, Machine& machine, std::function<void(double, const std::string&)> progress)
    : device_(device), quick_(quick), machine_(machine), progress_(std::move(progress)) {}

StopRule Probing::rule(double share) const {
  StopRule rule;
  rule.least_seconds *= share * (quick_ ? 0.1 : 1);
  rule.most_seconds = std::max(0.2, rule.most_seconds * share * (quick_ ? 0.02 : 0.2));
  if (quick_) rule.least_samples = 5;
  return rule;
}

std::span<const Probe> probes(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return cpu::probes();
#if defined(RAFTER_WITH_CUDA)
  return cuda::probes();
#else
  return {};
#endif
}

std::span<const Probe> thread_sweeps(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return cpu::thread_sweeps();
#if defined(RAFTER_WITH_CUDA)
  return cuda::thread_sweeps();
#else
  return {};
#endif
}

Machine probe(Device& device, const ProbeOptions& options, const ProbeProgress& progress) {
  return run_probes(device, chosen(device.id().kind, options.only), options.quick, progress);
}

Machine run_probes(Device& device, std::span<const Probe> list, bool quick, const ProbeProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  Machine machine;
  machine.device = device.info();
  machine.quick = quick;
  if (device.id().kind == DeviceKind::cpu) machine.threads = cpu_threads().size();
  double whole = 0, done = 0;
  for (const Probe& probe : list) whole += probe.seconds;
  for (const Probe& each : list) {
    const auto tell = [&](double fraction, const std::string& what) {
      const std::string text = what.empty() ? std::string(each.name) : fmt::format("{}: {}", each.name, what);
      if (progress) progress((done + fraction * each.seconds) / whole, text);
    };
    tell(0, "");
    Probing probing(device, quick, machine, tell);
    each.run(probing);
    done += each.seconds;
  }
  machine.probe_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return machine;
}

}  // namespace rafter
