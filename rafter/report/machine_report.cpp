#include "rafter/report/machine_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

constexpr size_t kPoints = 5;  // of a curve in a table

struct Group {
  const char* title;
  std::vector<std::string_view> families;  // what stands before the first dot
};

const std::vector<Group>& groups() {
  static const std::vector<Group> list = {
      {"Memory bandwidth", {"dram"}},
      {"Cache and shared memory bandwidth", {"l1", "l2", "l3", "shared", "constant", "readonly", "dsmem"}},
      {"Latency", {"latency"}},
      {"Capacity", {"capacity"}},
      {"Arithmetic", {"math", "math1"}},
      {"Overheads", {"overhead"}},
      {"Links", {"link"}},
      {"Other", {}}};
  return list;
}

std::string_view family(const Figure& f) { return std::string_view(f.name).substr(0, f.name.find('.')); }

bool in_group(const Figure& f, const Group& group) {
  const auto has = [&](const Group& g) {
    return std::find(g.families.begin(), g.families.end(), family(f)) != g.families.end();
  };
  return group.families.empty() ? std::none_of(groups().begin(), groups().end(), has) : has(group);
}

// A file may hold any number where a size should be.
std::string capacity_text(double bytes) {
  return bytes >= 0 && bytes < 9e18 ? format_capacity(static_cast<int64_t>(bytes)) : format_si(bytes, "B");
}

std::string axes_text(const Figure& f) {
  std::string text;
  for (const auto& [axis, value] : f.at) {
    const bool size = axis == "bytes" || axis == "stride" || axis == "segment";
    const std::string number = size ? capacity_text(value) : fmt::format("{:.6g}", value);
    text += (text.empty() ? "" : ", ") + (axis == "bytes" ? number : axis + ' ' + number);
  }
  return text;
}

std::string clock_text(double hz) { return hz > 0 ? fmt::format("{:.2f} GHz", hz / 1e9) : "-"; }

std::string spread_text(const Estimate& e) { return e.median > 0 ? fmt::format("{:.1f}%", 100 * e.iqr / e.median) : "-"; }

std::string remark_text(const Figure& f) {
  std::string text = f.value.series == Series::steady ? "" : std::string(name(f.value.series));
  if (f.value.throttled > 0) text += (text.empty() ? "" : ", ") + counted(f.value.throttled, "sample") + " throttled";
  if (!f.remark.empty()) text += (text.empty() ? "" : "; ") + f.remark;
  return text;
}

// Latencies in cycles too, where the clock is known: that is how they are compared between machines.
std::string measured_text(const Figure& f) {
  const std::string text = value_text(f, f.value.median);
  const bool cycles = family(f) == "latency" && f.value.clock_hz > 0;
  return cycles ? fmt::format("{} ({:.1f} cycles)", text, f.value.median * f.value.clock_hz) : text;
}

// Those of one curve that are shown: the ends, and some between.
std::vector<const Figure*> telling(const std::vector<const Figure*>& curve) {
  if (curve.size() <= kPoints + 1) return curve;
  std::vector<const Figure*> some;
  for (size_t i = 0; i < kPoints; ++i) some.push_back(curve[i * (curve.size() - 1) / (kPoints - 1)]);
  return some;
}

std::string group_text(const Machine& machine, const Group& group) {
  Table table({{"figure"},
               {"at", Align::right},
               {"state"},
               {"value", Align::right},
               {"IQR", Align::right},
               {"samples", Align::right},
               {"clock", Align::right},
               {"remark"}});
  std::vector<std::string> done;
  for (const Figure& first : machine.figures) {
    const std::string curve_name = first.name + ' ' + first.state;
    if (!in_group(first, group) || std::find(done.begin(), done.end(), curve_name) != done.end()) continue;
    done.push_back(curve_name);
    std::vector<const Figure*> curve;
    for (const Figure& f : machine.figures) {
      if (f.name == first.name && f.state == first.state) curve.push_back(&f);
    }
    const std::vector<const Figure*> shown = telling(curve);
    for (const Figure* f : shown) {
      table.add({f->name, axes_text(*f), f->state, measured_text(*f), spread_text(f->value), std::to_string(f->value.samples),
                 clock_text(f->value.clock_hz), remark_text(*f)});
    }
    if (shown.size() < curve.size()) table.add({"", fmt::format("{} of {}", shown.size(), curve.size())});
  }
  return table.rows() == 0 ? "" : fmt::format("\n{}\n{}", group.title, table.text());
}

}  // namespace

std::string value_text(const Figure& f, double value) {
  if (f.unit == "s") return format_seconds(value);
  if (f.unit == "B") return capacity_text(value);
  if (f.unit.ends_with("/s")) return format_rate(value, f.unit == "1/s" ? "" : f.unit.substr(0, f.unit.size() - 2).c_str());
  return format_si(value, f.unit.c_str());
}

std::string machine_text(const Machine& machine) {
  std::string text = fmt::format("{} ({}), {}probed in {}", machine.device.name, to_string(machine.device.id),
                                 machine.quick ? "quickly " : "", format_seconds(machine.probe_seconds));
  if (machine.threads > 0) text += fmt::format(", {} thread{}", machine.threads, machine.threads == 1 ? "" : "s");
  if (!machine.driver.empty()) text += ", driver " + machine.driver;
  text += '\n';
  for (const Group& group : groups()) text += group_text(machine, group);
  return text;
}

}  // namespace rafter
