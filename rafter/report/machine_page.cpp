#include "rafter/report/machine_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/report/figure_charts.h"
#include "rafter/report/machine_report.h"

namespace rafter {

namespace {

const Axis kSize{"bytes touched", "B"};
const Axis kRate{"rate", "B/s"};

void paragraph(Section& section, std::string text) { section.blocks.emplace_back(Paragraph{std::move(text)}); }

void table(Section& section, const Machine& machine, std::string_view prefix, const char* caption) {
  Table figures = figure_table(machine, prefix);
  if (figures.rows() > 0) section.blocks.emplace_back(CaptionedTable{caption, std::move(figures)});
}

// A chart of the curves that have points; none where no curve has.
void chart(Section& section, LineChart chart) {
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.size() < 2; });
  if (!chart.curves.empty()) section.blocks.emplace_back(std::move(chart));
}

std::string value_of(const Machine& machine, std::string_view name, std::string_view state = {}) {
  const Figure* f = machine.find(name, state);
  return f == nullptr ? "an unknown time" : value_text(*f, f->value.median);
}

std::string range_of(const Curve& curve, const char* unit) {
  if (curve.points.empty()) return "unknown";
  const auto [low, high] =
      std::minmax_element(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.y < b.y; });
  return fmt::format("{} at {} to {} at {}", format_rate(low->y, unit), format_capacity(static_cast<int64_t>(low->x)),
                     format_rate(high->y, unit), format_capacity(static_cast<int64_t>(high->x)));
}

bool is_curve(std::string_view name) { return name == "latency.chase" || name == "latency.pages" || name == "latency.l2_sm"; }

// How much slower the last point is than the first.
double worst_over_best(const Curve& curve) {
  if (curve.points.size() < 2 || !(curve.points.front().y > 0)) return 1;
  return curve.points.back().y / curve.points.front().y;
}

}  // namespace

Section dram_section(const Machine& m) {
  Section section{"DRAM bandwidth", {}};
  const Curve read = figure_curve(m, "dram.read", "bytes", "cold");
  if (read.points.empty()) return section;
  paragraph(section,
            fmt::format("A plain read runs from {}. The more is streamed, the less the first and the last accesses count, in "
                        "which the memory is partly idle: a bandwidth without its size says little.",
                        range_of(read, "B")));
  chart(section, {"DRAM bandwidth by size, caches cold",
                  kSize,
                  kRate,
                  {read, figure_curve(m, "dram.write", "bytes", "cold"), figure_curve(m, "dram.copy", "bytes", "cold"),
                   figure_curve(m, "dram.triad", "bytes", "cold")}});
  chart(section, {"The same with the data in the cache already",
                  kSize,
                  kRate,
                  {figure_curve(m, "dram.read", "bytes", "warm"), figure_curve(m, "dram.write", "bytes", "warm"),
                   figure_curve(m, "dram.copy", "bytes", "warm"), figure_curve(m, "dram.triad", "bytes", "warm")}});
  const Curve strided = figure_curve(m, "dram.strided", "stride"), random = figure_curve(m, "dram.random", "segment");
  if (!strided.points.empty() && !random.points.empty()) {
    paragraph(
        section,
        fmt::format(
            "Order decides. Reading 32 bytes of every {} gives {} of wanted bytes, against {} without gaps: DRAM hands out "
            "whole sectors and opens whole pages, wanted or not. At random places, segments of {} give {}, segments of {} "
            "give {}.",
            format_capacity(static_cast<int64_t>(strided.points.back().x)), format_rate(strided.points.back().y, "B"),
            format_rate(strided.points.front().y, "B"), format_capacity(static_cast<int64_t>(random.points.front().x)),
            format_rate(random.points.front().y, "B"), format_capacity(static_cast<int64_t>(random.points.back().x)),
            format_rate(random.points.back().y, "B")));
    chart(section, {"32 bytes of every stride; segments at random",
                    {"stride, or segment", "B"},
                    {"wanted bytes", "B/s"},
                    {strided, random}});
  }
  return section;
}

Section latency_section(const Machine& m) {
  Section section{"Latency", {}};
  Curve chase = figure_curve(m, "latency.chase", "bytes");
  if (chase.points.empty()) return section;
  paragraph(
      section,
      fmt::format(
          "One thread follows a random chain of addresses, each load giving the next, so that nothing overlaps. Inside the "
          "first cache a step takes {}, in DRAM {}: {:.0f} times as long. Where the chain outgrows a cache the curve leaves "
          "its "
          "plateau; the marks are the capacities that follow from it.",
          format_seconds(chase.points.front().y), format_seconds(chase.points.back().y), worst_over_best(chase)));
  LineChart curve{"A random walk by the size of its set", kSize, {"time of a step", "s"}, {chase}};
  curve.vertical = capacity_marks(m, "latency");
  chart(section, std::move(curve));
  if (m.find("latency.l2_far") != nullptr) {
    paragraph(
        section,
        fmt::format("L2 has two partitions: an SM waits {} for a line of its own and {} for one of the other's when it is the "
                    "first to ask. After that its own partition keeps a copy.",
                    value_of(m, "latency.l2_near"), value_of(m, "latency.l2_far")));
    chart(section, {"L2 latency by SM, over lines seen before",
                    {"SM", "", Scale::linear},
                    {"time of a load", "s", Scale::linear},
                    {figure_curve(m, "latency.l2_sm", "sm")}});
  }
  chart(section, {"The price of address translation: 2 MiB of lines spread over ever more memory",
                  {"memory spanned", "B"},
                  {"time of a step", "s", Scale::linear},
                  {figure_curve(m, "latency.pages", "bytes")}});
  Table levels({{"level"}, {"latency", Align::right}, {"cycles", Align::right}, {"remark"}});
  for (const Figure& f : m.figures) {
    if (!f.name.starts_with("latency.") || is_curve(f.name)) continue;
    const double cycles = f.value.median * f.value.clock_hz;
    levels.add({f.name.substr(8), value_text(f, f.value.median), cycles > 0 ? fmt::format("{:.0f}", cycles) : "-", f.remark});
  }
  if (levels.rows() > 0) section.blocks.emplace_back(CaptionedTable{"Latency of each level", std::move(levels)});
  table(section, m, "capacity.", "Capacities inferred");
  return section;
}

Section cache_section(const Machine& m) {
  Section section{"Bandwidth on the chip", {}};
  LineChart by_size{"L2 bandwidth by size",
                    kSize,
                    kRate,
                    {figure_curve(m, "l2.read", "bytes", "warm"), figure_curve(m, "l2.write", "bytes", "warm")}};
  by_size.vertical = capacity_marks(m, "bandwidth");
  chart(section, std::move(by_size));
  Table levels({{"level"}, {"read", Align::right}, {"remark"}});
  for (const char* name : {"shared.read", "l1.read", "readonly.read", "constant.read", "dsmem.read", "l2.read", "l3.read"}) {
    double best = 0;
    const Figure* shown = nullptr;
    for (const Figure* f : m.all(name)) {
      if (f->value.median > best) best = f->value.median, shown = f;
    }
    if (shown != nullptr) levels.add({name, value_text(*shown, best), shown->remark});
  }
  if (levels.rows() > 0) section.blocks.emplace_back(CaptionedTable{"The widest that each level was seen", std::move(levels)});
  return section;
}

Section conflict_section(const Machine& m) {
  Section section{"Conflicts, spills, atomics", {}};
  const Curve conflicts = figure_curve(m, "shared.conflict", "ways");
  if (conflicts.points.size() > 1) {
    paragraph(
        section,
        fmt::format("Shared memory has 32 banks, and the lanes of a warp that want different words of one bank wait for each "
                    "other: a load takes {} without a conflict and {} with 32 lanes on one bank, {:.1f} times as long.",
                    format_seconds(conflicts.points.front().y), format_seconds(conflicts.points.back().y),
                    worst_over_best(conflicts)));
    chart(section, {"A warp's load from shared memory by ways of conflict",
                    {"lanes on one bank", "", Scale::linear},
                    {"time of a load", "s", Scale::linear},
                    {conflicts}});
  }
  table(section, m, "spill.", "A kernel of 96 floats a thread, and the same with too few registers");
  table(section, m, "atomic.", "Atomic additions a second");
  return section;
}

Section math_section(const Machine& m) {
  Section section{"Arithmetic", {}};
  Table rates({{"unit"},
               {"burst", Align::right},
               {"clock", Align::right},
               {"sustained", Align::right},
               {"clock", Align::right},
               {"remark"}});
  const auto clock = [](const Figure* f) {
    return f != nullptr && f->value.clock_hz > 0 ? fmt::format("{:.2f} GHz", f->value.clock_hz / 1e9) : "-";
  };
  for (const Figure& f : m.figures) {
    if (!f.name.starts_with("math") || f.state == "sustained") continue;
    const Figure* sustained = m.find(f.name, "sustained");
    rates.add({f.name, value_text(f, f.value.median), clock(&f),
               sustained == nullptr ? "-" : value_text(f, sustained->value.median), clock(sustained), f.remark});
  }
  if (rates.rows() == 0) return section;
  paragraph(
      section,
      "Burst is a kernel of two milliseconds after a pause: what no kernel can beat. Sustained is what is left once power "
      "and clocks have settled under that load, and what a long matmul can hope for. The clock is that of the work itself.");
  section.blocks.emplace_back(CaptionedTable{"Rates by unit", std::move(rates)});
  return section;
}

Section overhead_section(const Machine& m) {
  Section section{"Overheads and links", {}};
  table(section, m, "overhead.", "What order costs");
  chart(section, {"Copies between host and GPU",
                  kSize,
                  kRate,
                  {figure_curve(m, "link.h2d", "bytes", "pinned"), figure_curve(m, "link.d2h", "bytes", "pinned"),
                   figure_curve(m, "link.h2d", "bytes", "pageable"), figure_curve(m, "link.d2h", "bytes", "pageable")}});
  table(section, m, "link.peer", "Between GPUs");
  return section;
}

Page machine_page(const Machine& m) {
  Page page{
      m.device.name,
      fmt::format("measured {} in {}{}{}", m.date.empty() ? "at an unknown time" : m.date, format_seconds(m.probe_seconds),
                  m.quick ? ", quickly" : "", m.driver.empty() ? "" : ", driver " + m.driver),
      {}};
  Section roofs{"The roofs", {}};
  roofs.blocks.emplace_back(Paragraph{"What the chip can do, as measured (solid) and as printed (dashed)."});
  roofs.blocks.emplace_back(roofs_chart(m));
  page.sections.push_back(std::move(roofs));
  for (Section section :
       {dram_section(m), latency_section(m), cache_section(m), conflict_section(m), math_section(m), overhead_section(m)}) {
    if (!section.blocks.empty()) page.sections.push_back(std::move(section));
  }
  return page;
}

}  // namespace rafter
