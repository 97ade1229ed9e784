// Chapter 4: the roofs of this machine, and a language model's kernels under them.
#include "rafter/report/roofline.h"

#include <fmt/format.h>

#include "rafter/base/units.h"
#include "rafter/lab/lab.h"
#include "rafter/lab/step.h"
#include "rafter/report/machine_page.h"

namespace rafter {

namespace {

void place_step(LabResult& result, const LabOptions& options, const ChosenStep& step, const ProbeProgress& progress) {
  Roofline placed = place_kernels(traced_step(options, step, result.measured, progress).profile, result.measured);
  if (result.kernels.empty()) result.kernels = roofline_json(placed);
  Page page = roofline_page(placed);
  for (Section& section : page.sections) {
    section.title = fmt::format("{}: {}", step.title, section.title);
    result.page.sections.push_back(std::move(section));
  }
}

}  // namespace

LabResult roofline_lab(const LabOptions& options, const ProbeProgress& progress) {
  LabResult result;
  result.measured = roofs_for(options, progress);
  const Machine& m = result.measured;
  result.page = {"The roofline", m.device.name, {}};
  Section opening{"What is asked", {}};
  opening.blocks.emplace_back(Paragraph{
      "Every kernel moves bytes and does arithmetic, and the chip can do only so much of each a second. Arithmetic intensity, "
      "FLOPs for each "
      "byte, decides which of the two it runs out of first: left of the ridge memory, right of it the arithmetic unit."});
  const auto bandwidth = m.bandwidth("dram.read", 1e12);
  for (const MathUnit unit : {MathUnit::bf16, MathUnit::fp32}) {
    const auto rate = m.rate(unit);
    if (!bandwidth || !rate) continue;
    opening.blocks.emplace_back(Paragraph{fmt::format(
        "The ridge of {} lies at {:.0f} FLOP a byte here: {} over {}. A matmul of m rows does "
        "about m FLOPs for each byte "
        "of bf16 weights, so that decoding one token (m = 1) is {:.0f} times too far left to need the arithmetic.",
        name(unit), *rate / *bandwidth, format_rate(*rate, "FLOP"), format_rate(*bandwidth, "B"), *rate / *bandwidth)});
  }
  result.page.sections.push_back(std::move(opening));
  result.page.sections.push_back(math_section(m));
  const bool cpu = options.device.kind == DeviceKind::cpu;
  place_step(result, options, {"One decode step", cpu ? 64 : 512, 0}, progress);
  const int64_t prompt = cpu ? 64 : 512;
  place_step(result, options, {fmt::format("Prefill of {} tokens", prompt), 0, prompt}, progress);
  if (cpu) {
    result.page.sections.push_back(
        {"Left out",
         {Paragraph{"This is a CPU. A GPU would add: tensor cores by type, each with a roof of its own, and "
                    "the launch of each kernel, which is what small kernels are bound by there."}}});
  }
  return result;
}

}  // namespace rafter
