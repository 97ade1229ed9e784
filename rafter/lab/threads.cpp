// Chapter 2: the first kernel, c = a + b, and how its launch decides what it gets of the DRAM roof.
#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/lab/lab.h"
#include "rafter/machine/store.h"
#include "rafter/report/figure_charts.h"

namespace rafter {

namespace {

const Axis kRate{"bytes the maths needs", "B/s", Scale::linear};

const CurvePoint* best_of(const Curve& curve) {
  const auto best =
      std::max_element(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.y < b.y; });
  return best == curve.points.end() ? nullptr : &*best;
}

std::string rate_text(double rate) { return format_rate(rate, "B"); }

// What the widest plain copy was seen to do, from the machine that was kept; 0 where it was not probed.
double copy_roof(const Machine& known) {
  double best = 0;
  for (const Figure* f : known.all("dram.copy", "cold")) best = std::max(best, f->value.median);
  return best;
}

Section section_of(const char* title, std::string text, LineChart chart, double roof) {
  Section section{title, {Paragraph{std::move(text)}}};
  if (roof > 0) chart.horizontal.push_back({roof, "DRAM roof of a copy " + rate_text(roof)});
  section.blocks.emplace_back(std::move(chart));
  return section;
}

void add_sizes(Page& page, const Machine& m, double roof) {
  const Curve add = figure_curve(m, "threads.add", "bytes"), saxpy = figure_curve(m, "threads.saxpy", "bytes");
  if (add.points.empty()) return;
  page.sections.push_back(section_of(
      "The first kernel",
      fmt::format("One thread, one element: c[i] = a[i] + b[i] moves 12 bytes for one addition. At {} it gets {}; at {} all "
                  "of it is the launch: {} for {} of data.",
                  format_capacity(static_cast<int64_t>(add.points.back().x)), rate_text(add.points.back().y),
                  format_capacity(static_cast<int64_t>(add.points.front().x)),
                  format_seconds(add.points.front().x / add.points.front().y),
                  format_capacity(static_cast<int64_t>(add.points.front().x))),
      {"Vector add and saxpy by size", {"bytes moved", "B"}, {"rate", "B/s"}, {add, saxpy}}, roof));
}

void add_launch(Page& page, const Machine& m, double roof) {
  const Curve block = figure_curve(m, "threads.block", "threads"), grid = figure_curve(m, "threads.grid", "blocks");
  if (const CurvePoint* best = best_of(block)) {
    page.sections.push_back(section_of(
        "The block",
        fmt::format(
            "Blocks of {:.0f} threads are best here, at {}. Small ones start so often that the SMs wait for the next block, "
            "{} at {:.0f} threads; large ones leave an SM idle until the last of their warps is done.",
            best->x, rate_text(best->y), rate_text(block.points.front().y), block.points.front().x),
        {"saxpy by threads in a block", {"threads in a block", ""}, kRate, {block}}, roof));
  }
  if (const CurvePoint* best = best_of(grid)) {
    page.sections.push_back(section_of(
        "The grid",
        fmt::format(
            "With a grid-stride loop the grid is a choice. {:.0f} blocks of 256 get {}; {:.0f} get the best, {}: the chip is "
            "full, and more blocks change little.",
            grid.points.front().x, rate_text(grid.points.front().y), best->x, rate_text(best->y)),
        {"saxpy with a grid-stride loop, by blocks", {"blocks of 256 threads", ""}, kRate, {grid}}, roof));
  }
}

void add_flight(Page& page, const Machine& m, double roof) {
  const Curve width = figure_curve(m, "threads.width", "bytes"), flight = figure_curve(m, "threads.in_flight", "loads");
  if (width.points.size() > 1) {
    page.sections.push_back(section_of(
        "The width of an access",
        fmt::format("A copy by single bytes gets {}, by 16 bytes {}: each instruction that moves more leaves more bytes in "
                    "flight for the same number of warps.",
                    rate_text(width.points.front().y), rate_text(width.points.back().y)),
        {"A copy by bytes a thread moves at once", {"bytes", ""}, kRate, {width}}, roof));
  }
  if (flight.points.size() > 1) {
    page.sections.push_back(section_of(
        "Loads in flight",
        fmt::format(
            "One block of 256 threads on each SM, too few to hide DRAM's latency by themselves: with one 16-byte load under "
            "way in each thread {}, with {:.0f} {}.",
            rate_text(flight.points.front().y), flight.points.back().x, rate_text(flight.points.back().y)),
        {"A read by loads in flight a thread", {"loads in flight", ""}, kRate, {flight}}, roof));
  }
}

// One curve for each way of limiting the warps an SM holds, and what was predicted beside what was seen.
void add_occupancy(Page& page, const Machine& m, double roof) {
  LineChart chart{"A read with one load a thread, by warps on an SM", {"warps on an SM", "", Scale::linear}, kRate, {}};
  Table table({{"limited by"},
               {"threads a block", Align::right},
               {"registers", Align::right},
               {"shared memory", Align::right},
               {"predicted warps", Align::right},
               {"seen", Align::right},
               {"rate", Align::right}});
  for (const char* what : {"threads", "shared", "registers"}) {
    const std::string name = std::string("threads.occupancy_") + what;
    Curve curve = figure_curve(m, name, "warps");
    curve.name = std::string("limited by ") + (std::string(what) == "threads" ? "the grid" : what);
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
    const auto rates = m.all(name), seen = m.all(name + "_seen");
    for (size_t i = 0; i < rates.size() && i < seen.size(); ++i) {
      const auto at = [&](const char* axis) { return rates[i]->at_value(axis).value_or(0); };
      table.add({what, fmt::format("{:.0f}", at("threads")), fmt::format("{:.0f}", at("registers")),
                 format_capacity(static_cast<int64_t>(at("shared"))), fmt::format("{:.0f}", at("warps")),
                 fmt::format("{:.0f}", seen[i]->value.median), rate_text(rates[i]->value.median)});
    }
  }
  if (chart.curves.empty()) return;
  Section section = section_of(
      "Occupancy",
      "How many warps an SM holds at once is limited by threads, blocks, registers or shared memory, whichever runs out "
      "first. Whatever the reason, fewer warps mean fewer loads under way, and the curves fall on one another.",
      std::move(chart), roof);
  section.blocks.emplace_back(CaptionedTable{"Predicted and seen", std::move(table)});
  page.sections.push_back(std::move(section));
}

void add_divergence(Page& page, const Machine& m) {
  const Curve curve = figure_curve(m, "threads.divergence", "paths");
  if (curve.points.size() < 2) return;
  page.sections.push_back(section_of(
      "Divergence",
      fmt::format(
          "The 32 lanes of a warp share one instruction. Lanes that take different ways through a branch wait for each other: "
          "the same work takes {} when all agree and {} when each goes its own way, {:.1f} times as long.",
          format_seconds(curve.points.front().y), format_seconds(curve.points.back().y),
          curve.points.back().y / curve.points.front().y),
      {"Time of a warp by the paths its lanes take", {"paths", ""}, {"time", "s"}, {curve}}, 0));
}

void add_cpu(Page& page, const Machine& m) {
  const Curve count = figure_curve(m, "threads.count", "threads"), size = figure_curve(m, "threads.triad", "bytes"),
              sections = figure_curve(m, "threads.section", "bytes");
  if (const CurvePoint* best = best_of(count)) {
    page.sections.push_back(section_of(
        "Threads",
        fmt::format(
            "A triad, c = a + s b, by how many threads share it: {:.0f} get the most, {}. Memory, not cores, sets the end.",
            best->x, rate_text(best->y)),
        {"Triad by threads", {"threads", "", Scale::linear}, kRate, {count}}, 0));
  }
  if (size.points.size() > 1) {
    page.sections.push_back({"Size", {LineChart{"Triad by size", {"bytes moved", "B"}, {"rate", "B/s"}, {size}}}});
  }
  if (sections.points.size() > 1) {
    page.sections.push_back(
        {"Sections",
         {Paragraph{"The same bytes in ever smaller parallel sections: entering and leaving one is paid each time."},
          LineChart{"Triad by bytes in a section", {"bytes in a section", "B"}, {"rate", "B/s"}, {sections}}}});
  }
  page.sections.push_back(
      {"Left out",
       {Paragraph{"This is a CPU. A GPU would add: the block, the grid, occupancy by registers and shared memory, the "
                  "width of an access, loads in flight, and divergence inside a warp."}}});
}

}  // namespace

LabResult threads_lab(const LabOptions& options, const ProbeProgress& progress) {
  Device& target = device(options.device);
  LabResult result;
  result.measured = run_probes(target, thread_sweeps(options.device.kind), options.quick, progress);
  const auto known = known_machine(target.info());
  const double roof = known ? copy_roof(*known) : 0;
  const Machine& m = result.measured;
  result.page = {"Threads: a first kernel", m.device.name, {}};
  std::string about =
      "The simplest kernels there are do so little with each byte that DRAM decides their speed. What remains to be chosen is "
      "how "
      "they are launched, and it is worth a factor of ten.";
  if (roof == 0) about += " The roof they are held against is missing: run rafter probe first.";
  result.page.sections.push_back({"What is asked", {Paragraph{about}}});
  if (options.device.kind == DeviceKind::cpu) {
    add_cpu(result.page, m);
    return result;
  }
  add_sizes(result.page, m, roof);
  add_launch(result.page, m, roof);
  add_flight(result.page, m, roof);
  add_occupancy(result.page, m, roof);
  add_divergence(result.page, m);
  return result;
}

}  // namespace rafter
