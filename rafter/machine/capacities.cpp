// Which knee is whose: by where it lies beside the documented sizes; see capacities.h.
#include "rafter/machine/capacities.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "rafter/base/units.h"
#include "rafter/machine/knees.h"

namespace rafter {

namespace {

constexpr double kKi = 1024;

std::vector<KneePoint> curve_of(const Machine& machine, std::string_view name) {
  std::vector<KneePoint> points;
  for (const Figure* f : machine.all(name)) points.push_back({f->at_value("bytes").value_or(0), f->value.median});
  return points;
}

Figure capacity(const std::string& name, const std::string& state, const Knee& knee, const std::string& unit) {
  Figure figure{name, {}, state, "B", {}, describe(knee, unit)};
  figure.value.median = knee.x;
  figure.value.iqr = knee.beyond - knee.inside;
  figure.value.samples = knee.before.points;
  return figure;
}

// A cache that shares its memory, or hashes its addresses badly, fills early; one of twice the size is another.
std::string owner(double x, double l1, double l2, bool latency) {
  const double l1_end = l1 > 0 ? 2 * l1 : 512 * kKi;
  if (latency && x <= l1_end) return "capacity.l1";
  if (l2 <= 0 || x > 2 * l2) return "";
  if (x > 0.7 * l2) return "capacity.l2";
  return x > 0.25 * l2 ? "capacity.l2_near" : "";
}

}  // namespace

double documented_l1_bytes(int compute_major, int compute_minor) {
  const int capability = 10 * compute_major + compute_minor;
  static const std::map<int, double> kKibibytes = {{70, 128}, {75, 96},   {80, 192},  {86, 128},  {87, 192},  {89, 128},
                                                   {90, 256}, {100, 256}, {103, 256}, {110, 256}, {120, 128}, {121, 128}};
  const auto found = kKibibytes.find(capability);
  return found == kKibibytes.end() ? 0 : found->second * kKi;
}

std::vector<Figure> cache_capacities(const Machine& machine, std::string_view curve) {
  const bool latency = curve.starts_with("latency.");
  const double l1 = documented_l1_bytes(machine.device.compute_major, machine.device.compute_minor);
  const double l2 = static_cast<double>(machine.device.l2_bytes);
  std::map<std::string, Knee> surest;
  for (const Knee& knee : find_knees(curve_of(machine, curve), latency ? Worse::higher : Worse::lower)) {
    const std::string name = owner(knee.x, l1, l2, latency);
    if (name.empty()) continue;
    const auto [at, is_new] = surest.emplace(name, knee);
    if (!is_new && knee.sure > at->second.sure) at->second = knee;
  }
  std::vector<Figure> figures;
  for (const auto& [name, knee] : surest) {
    Figure figure = capacity(name, latency ? "latency" : "bandwidth", knee, latency ? "s" : "B/s");
    const double documented = name == "capacity.l1" ? l1 : l2;
    if (documented > 0) {
      figure.remark = fmt::format("documented {}{}; {}", format_capacity(static_cast<int64_t>(documented)),
                                  name == "capacity.l1" ? " with shared memory" : " in all", figure.remark);
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Figure> tlb_capacities(const Machine& machine) {
  std::vector<Figure> figures;
  for (const Knee& knee : find_knees(curve_of(machine, "latency.pages"), Worse::higher, {.least_change = 0.08})) {
    Figure figure = capacity("capacity.tlb", "latency", knee, "s");
    figure.at = {{"level", static_cast<double>(figures.size() + 1)}};
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace rafter
