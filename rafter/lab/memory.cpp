// Chapter 3: the memory hierarchy, level by level.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rafter/lab/lab.h"
#include "rafter/report/machine_page.h"

namespace rafter {

namespace {

constexpr std::array<std::string_view, 10> kMemory = {"dram",   "latency", "onchip",  "l2_map",    "cache",
                                                      "shared", "spill",   "atomics", "bandwidth", "latency"};

std::vector<Probe> memory_probes(DeviceKind kind) {
  std::vector<Probe> list;
  for (const Probe& probe : probes(kind)) {
    if (std::find(kMemory.begin(), kMemory.end(), probe.name) != kMemory.end()) list.push_back(probe);
  }
  return list;
}

}  // namespace

LabResult memory_lab(const LabOptions& options, const ProbeProgress& progress) {
  LabResult result;
  result.measured = run_probes(device(options.device), memory_probes(options.device.kind), options.quick, progress);
  const Machine& m = result.measured;
  result.page = {"Memory, level by level", m.device.name, {}};
  Section opening{"What is asked", {}};
  opening.blocks.emplace_back(
      Paragraph{"A level of memory is known by three numbers: how long one access takes (latency), how much comes through when "
                "many are under way "
                "(bandwidth), and how much fits (capacity). Each is measured on its own below. Between them stands Little's "
                "law: bytes in flight = "
                "bandwidth x latency, which is why a kernel needs so many loads under way before DRAM is busy."});
  const Figure* dram = m.find("latency.dram");
  const auto bandwidth = m.bandwidth("dram.read", 1e12);
  if (dram != nullptr && bandwidth) {
    opening.blocks.emplace_back(Paragraph{fmt::format(
        "Here: {:.0f} ns x {:.2f} GB/s = {:.1f} KB that must be in flight at all times, {:.0f} accesses of 16 bytes.",
        dram->value.median * 1e9, *bandwidth / 1e9, dram->value.median * *bandwidth / 1e3,
        dram->value.median * *bandwidth / 16)});
  }
  if (options.device.kind == DeviceKind::cpu) {
    opening.blocks.emplace_back(
        Paragraph{"This is a CPU. A GPU would add: shared memory and its bank conflicts, L1 beside it, the near and the far "
                  "partition of L2 by SM, a "
                  "neighbour's shared memory, constants, atomics by contention, and the price of register spills."});
  }
  result.page.sections.push_back(std::move(opening));
  for (Section section : {latency_section(m), dram_section(m), cache_section(m), conflict_section(m)}) {
    if (!section.blocks.empty()) result.page.sections.push_back(std::move(section));
  }
  return result;
}

}  // namespace rafter
