// Chapter 15: one token, kernel by kernel. What each kernel of a decode step does, how near the roof it is, and where the rest
// of the step goes.
#include <fmt/format.h>

#include <cmath>

#include "rafter/base/units.h"
#include "rafter/lab/lab.h"
#include "rafter/lab/op_sentences.h"
#include "rafter/lab/step.h"
#include "rafter/report/roofline.h"

namespace rafter {

namespace {

std::string percent_of(double part, double whole) { return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-"; }

Section opening(const LabStep& step) {
  const StepTrace& trace = step.trace;
  const Cost cost = trace.cost();
  Section section{"What is asked", {}};
  section.blocks.emplace_back(
      Paragraph{fmt::format("One token of {} with {} in the cache: {} must be read or written, each byte once, and {} "
                            "computed. That is {:.2f} FLOP a "
                            "byte, far left of any ridge: memory decides.",
                            step.model, counted(trace.options.context, "token"), format_bytes(cost.bytes()),
                            format_si(cost.flops(), "FLOP"), cost.flops() / cost.bytes())});
  std::string text = fmt::format("The step takes {}: {:.1f} tokens/s.", format_seconds(trace.step_seconds),
                                 static_cast<double>(trace.tokens) / trace.step_seconds);
  if (trace.floor) {
    text += fmt::format(" At the roofs of this machine it would take {}, so it runs at {} of its roof.",
                        format_seconds(trace.floor->seconds), percent_of(trace.floor->seconds, trace.step_seconds));
  }
  section.blocks.emplace_back(Paragraph{text});
  section.blocks.emplace_back(Paragraph{trace.method});
  return section;
}

Section kernels(const StepTrace& trace) {
  Table table({{"op"},
               {"times", Align::right},
               {"what it does"},
               {"time", Align::right},
               {"share", Align::right},
               {"floor", Align::right},
               {"% of roof", Align::right}});
  for (const TraceGroup& group : fold(trace)) {
    const TracedOp& op = group.total;
    table.add({op.name, std::to_string(group.count), what_it_does(op.name, op.kind), format_seconds(op.seconds),
               percent_of(op.seconds, trace.step_seconds), op.floor ? format_seconds(op.floor->seconds) : "-",
               op.floor ? percent_of(op.floor->seconds, op.seconds) : "-"});
  }
  return {"Every kernel of the step", {CaptionedTable{"In the order of the step; times of all layers together", table}}};
}

// The step as a sum, a row a part.
Section where_the_rest_goes(const StepTrace& trace) {
  Table table({{"part"}, {"time", Align::right}, {"of the step", Align::right}});
  for (const Bar& bar : step_waterfall(trace).bars) {
    table.add({bar.name, (bar.seconds < 0 ? "-" : "") + format_seconds(std::abs(bar.seconds)),
               percent_of(bar.seconds, trace.step_seconds)});
  }
  return {
      "Where the rest goes",
      {Paragraph{"From what no kernel can beat to what was measured: each part adds to the one above, and all of them are the "
                 "step."},
       CaptionedTable{"The step as a sum", table}}};
}

Section which_is_first(const StepTrace& trace) {
  Table table({{"op"}, {"would gain", Align::right}, {"of the step", Align::right}, {"because"}});
  for (const Gain& gain : which_first(trace)) {
    if (gain.seconds <= 0) continue;
    table.add({gain.group.total.name, format_seconds(gain.seconds), percent_of(gain.seconds, trace.step_seconds), gain.why});
  }
  return {"Which kernel first", {CaptionedTable{"What each op would gain at its roof, the largest first", table}}};
}

}  // namespace

LabResult one_token_lab(const LabOptions& options, const ProbeProgress& progress) {
  LabResult result;
  result.measured = roofs_for(options, progress);
  const bool cpu = options.device.kind == DeviceKind::cpu;
  const LabStep step = traced_step(options, {"One decode step", cpu ? 64 : 512, 0}, result.measured, progress);
  const Roofline placed = place_kernels(step.profile, result.measured);
  result.kernels = roofline_json(placed);
  result.page = {"One token, kernel by kernel", fmt::format("{} on {}", step.model, result.measured.device.name), {}};
  result.page.sections = {opening(step), kernels(step.trace)};
  for (Section& section : roofline_page(placed).sections) result.page.sections.push_back(std::move(section));
  if (step.trace.floor) {
    result.page.sections.push_back(where_the_rest_goes(step.trace));
    result.page.sections.push_back(which_is_first(step.trace));
  }
  if (cpu) {
    result.page.sections.push_back(
        {"Left out",
         {Paragraph{
             "This is a CPU. A GPU would add: the gaps between kernels, the overlap of a kernel's start with the end of the "
             "one before, and a step replayed as one graph."}}});
  }
  return result;
}

}  // namespace rafter
