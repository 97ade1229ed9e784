// Chapter 15: one token, kernel by kernel. What each kernel of a decode step does, how near the roof it is, and where the rest
// of the step goes.
#include "rafter/lab/lab.h"
#include "rafter/lab/step.h"
#include "rafter/report/roofline.h"
#include "rafter/report/trace_page.h"

namespace rafter {

LabResult one_token_lab(const LabOptions& options, const ProbeProgress& progress) {
  LabResult result;
  result.measured = roofs_for(options, progress);
  const bool cpu = options.device.kind == DeviceKind::cpu;
  const LabStep step = traced_step(options, {"One decode step", cpu ? 64 : 512, 0}, result.measured, progress);
  const Roofline placed = place_kernels(step.profile, result.measured);
  result.kernels = roofline_json(placed);
  result.page = trace_page(step.trace, step.model, placed);
  result.page.title = "One token, kernel by kernel";
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
