#include "rafter/report/trace_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/units.h"
#include "rafter/measure/recording/tracks.h"
#include "rafter/measure/trace_parts.h"
#include "rafter/report/op_sentences.h"
#include "rafter/report/waterfall_report.h"

namespace rafter {

namespace {

Section opening(const StepTrace& trace, const std::string& model) {
  const Cost cost = trace.cost();
  Section section{"What is asked", {}};
  const bool prefill = trace.options.prefill > 0;
  section.blocks.emplace_back(Paragraph{fmt::format(
      "{} of {} with {} in the cache: {} must be read or written, each byte once, and {} computed: {:.1f} FLOP a byte.",
      prefill ? "A prefill of " + counted(trace.options.prefill, "token") : "One token", model,
      counted(trace.options.context, "token"), format_bytes(cost.bytes()), format_si(cost.flops(), "FLOP"),
      cost.bytes() > 0 ? cost.flops() / cost.bytes() : 0)});
  std::string text = fmt::format("The step takes {}: {:.1f} tokens/s.", format_seconds(trace.step_seconds),
                                 static_cast<double>(trace.tokens) / trace.step_seconds);
  if (trace.floor) {
    text += fmt::format(" At the roofs of this machine it would take {}: it runs at {} of its roof.",
                        format_seconds(trace.floor->seconds), format_share(trace.floor->seconds, trace.step_seconds));
  }
  section.blocks.emplace_back(Paragraph{text});
  section.blocks.emplace_back(Paragraph{trace.method});
  return section;
}

Section ops(const StepTrace& trace) {
  Table table({{"op"},
               {"times", Align::right},
               {"what it does"},
               {"time", Align::right},
               {"share", Align::right},
               {"floor", Align::right},
               {"% of roof", Align::right},
               {"kernel"}});
  for (const TraceGroup& group : fold(trace)) {
    const TracedOp& op = group.total;
    table.add({op.name, std::to_string(group.count), what_it_does(op.name, op.kind), format_seconds(op.seconds),
               format_share(op.seconds, trace.step_seconds), op.floor ? format_seconds(op.floor->seconds) : "-",
               op.floor ? format_share(op.floor->seconds, op.seconds) : "-", op.kernel});
  }
  return {"Every kernel of the step", {CaptionedTable{"In the order of the step; times of all layers together", table}}};
}

// Kernels that overlap have a lane each: one that is launched early waits in the second.
TimelineChart timeline(const StepTrace& trace) {
  TimelineChart chart{"One step in time", {}, {}};
  Tracks tracks(false);
  for (const StepSpan& span : trace.recorded.example) {
    const TracedOp& op = trace.ops[span.op];
    const auto ns = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
    const size_t lane = tracks.place(ns(span.start_seconds), ns(span.end_seconds));
    while (chart.lanes.size() <= lane) chart.lanes.push_back(chart.lanes.empty() ? "kernels" : "launched early");
    const std::string layer = op.layer < 0 ? "" : fmt::format(", layer {}", op.layer);
    chart.spans.push_back({lane, span.start_seconds, span.end_seconds, op.name + layer, op.name, {span.kernel}});
  }
  return chart;
}

Section which_is_first(const StepTrace& trace) {
  Table table({{"op"}, {"would gain", Align::right}, {"of the step", Align::right}, {"because"}});
  for (const Gain& gain : which_first(trace)) {
    if (gain.seconds <= 0) continue;
    table.add({gain.group.total.name, format_seconds(gain.seconds), format_share(gain.seconds, trace.step_seconds), gain.why});
  }
  return {"Which kernel first", {CaptionedTable{"What each op would gain at its roof, the largest first", table}}};
}

}  // namespace

Page trace_page(const StepTrace& trace, const std::string& model, const Roofline& placed) {
  Page page{"One step, kernel by kernel", fmt::format("{} on {}", model, placed.profile.device), {}};
  page.sections = {opening(trace, model), ops(trace)};
  if (!trace.recorded.example.empty()) page.sections.push_back({"A step in time", {timeline(trace)}});
  if (trace.floor) {
    page.sections.push_back(
        {"Where the time goes",
         {Paragraph{
              "From what no kernel can beat to what was measured: each part adds to the one above, and all of them are the "
              "step."},
          waterfall_chart(step_waterfall(trace))}});
    page.sections.push_back(which_is_first(trace));
  }
  for (Section& section : roofline_page(placed).sections) page.sections.push_back(std::move(section));
  return page;
}

}  // namespace rafter
