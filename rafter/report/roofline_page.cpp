// A Roofline as a page: the chart, the kernels with their evidence, what was not placed.
#include <fmt/format.h>

#include "rafter/base/units.h"
#include "rafter/report/figure_charts.h"
#include "rafter/report/roofline.h"

namespace rafter {

namespace {

RooflinePoint point_of(const PlacedKernel& k) {
  RooflinePoint point;
  point.name = k.kernel.name;
  point.short_name = k.kernel.short_name;
  point.flop_per_byte = *k.intensity;
  point.flop_per_second = *k.flops_per_second;
  point.seconds = k.kernel.seconds.value_or(0);
  point.group = name(k.bottleneck.limit);
  point.remarks = {k.bottleneck.evidence};
  if (!k.kernel.op.empty()) point.remarks.push_back("op " + k.kernel.op);
  if (!k.kernel.shapes.empty()) point.remarks.push_back(k.kernel.shapes);
  if (k.bottleneck.fraction) point.remarks.push_back(fmt::format("{:.1f}% of its roof", 100 * *k.bottleneck.fraction));
  return point;
}

Table kernel_table(const Roofline& r) {
  Table table({{"kernel"},
               {"launches", Align::right},
               {"time", Align::right},
               {"share", Align::right},
               {"of roof", Align::right},
               {"gain", Align::right},
               {"limited by"},
               {"evidence"}});
  for (const PlacedKernel& k : r.kernels) {
    table.add({k.kernel.shapes.empty() ? label(k.kernel) : label(k.kernel) + " of " + k.kernel.shapes,
               std::to_string(k.kernel.launches), k.kernel.seconds ? format_seconds(*k.kernel.seconds) : "-",
               k.share ? fmt::format("{:.1f}%", 100 * *k.share) : "-",
               k.bottleneck.fraction ? fmt::format("{:.1f}%", 100 * *k.bottleneck.fraction) : "-",
               k.gain_seconds ? format_seconds(*k.gain_seconds) : "-", name(k.bottleneck.limit), k.bottleneck.evidence});
  }
  return table;
}

}  // namespace

Page roofline_page(const Roofline& r) {
  RooflineChart chart = r.machine ? roofs_chart(*r.machine) : RooflineChart{};
  chart.title = "Kernels under the roofs";
  size_t unplaced = 0;
  for (const PlacedKernel& k : r.kernels) {
    if (k.plottable()) {
      chart.points.push_back(point_of(k));
    } else {
      ++unplaced;
    }
  }
  Page page{
      "Roofline",
      fmt::format("{}: {}{}", r.profile.path, name(r.profile.kind), r.profile.device.empty() ? "" : ", on " + r.profile.device),
      {}};
  Section where{"Where the kernels stand", {}};
  where.blocks.emplace_back(Paragraph{fmt::format(
      "{} kernels took {}. A point's height is the rate of its arithmetic, its place to the "
      "right how much arithmetic "
      "each byte from DRAM brings; its area is its share of the time. Under the slope memory is the "
      "limit, under a flat line that "
      "unit is. {}",
      r.kernels.size(), format_seconds(r.seconds),
      r.machine ? fmt::format("Solid roofs were measured on {} ({}); dashed ones are its datasheet's.", r.machine->device.name,
                              r.machine->date.empty() ? "just now" : r.machine->date.substr(0, 10))
                : "No machine was probed, so no roof is drawn: run rafter probe.")});
  if (by_needs_alone(r)) {
    where.blocks.emplace_back(Paragraph{"Bytes and FLOPs are what the maths needs: the file has no counters."});
  }
  where.blocks.emplace_back(std::move(chart));
  if (unplaced > 0) {
    where.blocks.emplace_back(
        Paragraph{fmt::format("{} of the kernels have no place on the chart, since the file lacks their time, bytes or FLOPs; "
                              "the table has them all.",
                              unplaced)});
  }
  page.sections.push_back(std::move(where));
  page.sections.push_back({"What limits each", {CaptionedTable{"Kernels, the longest first", kernel_table(r)}}});
  if (!r.profile.remarks.empty()) {
    Section remarks{"What the reader of the file has to say", {}};
    for (const std::string& remark : r.profile.remarks) remarks.blocks.emplace_back(Paragraph{remark});
    page.sections.push_back(std::move(remarks));
  }
  return page;
}

}  // namespace rafter
