// What one device can do, as measured on it: bandwidth per level of memory, rate per unit and dtype, latencies, overheads.
//
// A Machine is a list of Figures and no more: a probe adds figures, a report draws them, a comparison pairs them by key.
// The lookups below say which figures price an op. On a CPU figures are of all threads together; what one thread does alone has
// a name of its own: dram.read_1t, math1.fp32.simd. No datasheet number ever stands in for a measured one: what was not
// measured is nullopt.
//
// Names are level.what or group.what; what varies inside a name is in `at`:
//   dram.read|write|copy|triad  B/s   at bytes            state cold: nothing of it in the caches
//   l1|l2|l3.read|write, shared.read  B/s at bytes        state warm: all of it in that cache
//   math.fp32.ffma, math.bf16.wgmma, ...  FLOP/s          unit, then pipe; state burst (milliseconds) or sustained (a second)
//   latency.dram, latency.chase, ...  s                   at bytes, sm, ...
//   capacity.l1, capacity.l2, capacity.tlb, ...  B        inferred: state latency or bandwidth, the curve it was read off
//   shared.conflict, spill.fma  s                         at ways; at registers: a warp's load, a warp's multiply-add
//   atomic.global.same.u32, ...  1/s                      where, by how many they meet, type; state red (no result) or atom
//   overhead.launch_stream, ...  s                         state queued, live or host: whose time, see probe_overhead.cu
//   link.h2d|d2h|bidirectional  B/s  at bytes             state pinned or pageable
//   link.peer  B/s  at gpu                                state read or write
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rafter/device/device.h"
#include "rafter/machine/estimate.h"
#include "rafter/ops/cost.h"

namespace rafter {

struct Figure {
  std::string name;                                // "dram.read"
  std::vector<std::pair<std::string, double>> at;  // {"bytes", 1 << 30}, in the order that a table shows
  std::string state;                               // "cold", "warm", "burst", "sustained"; empty where there is one only
  std::string unit;                                // "B/s", "FLOP/s", "1/s", "s", "B"
  Estimate value;
  std::string remark;  // what a reader must know beside the number; usually empty

  std::optional<double> at_value(std::string_view axis) const;
  // "dram.read[bytes=1073741824] cold": the same figure on every machine.
  std::string key() const;
};

struct Machine {
  DeviceInfo device;
  std::string driver;  // "580.65.06"; empty on the CPU
  std::string commit, date, command;
  double probe_seconds = 0;
  bool quick = false;  // fewer points, fewer samples
  int threads = 0;     // of the CPU probes
  std::vector<Figure> figures;

  const Figure* find(std::string_view name, std::string_view state = {}) const;  // the first of the name and state
  std::vector<const Figure*> all(std::string_view name, std::string_view state = {}) const;

  // B/s of a plain sweep over `bytes` of DRAM ("dram.read", "dram.write", ...), on a line over log(bytes) between the sizes
  // that were measured; the nearest size's outside them.
  std::optional<double> bandwidth(std::string_view name, double bytes, std::string_view state = "cold") const;
  // FLOP/s (or integer operations) of the fastest pipe that does this kind of maths, in a burst. A CPU computes what it has no
  // instruction for in FP32: there every unit but fp64 runs at its own rate or at that of fp32, whichever is higher.
  std::optional<double> rate(MathUnit unit) const;
};

// "rafter.machine/1". read_machine throws an input Error that names `source` and what is wrong with the text.
std::string machine_json(const Machine& machine);
Machine read_machine(std::string_view json, const std::string& source);

}  // namespace rafter
