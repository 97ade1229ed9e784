#include "rafter/lab/step.h"

#include <algorithm>

#include "rafter/engine/engine.h"
#include "rafter/measure/profiles/rafter_json.h"
#include "rafter/measure/trace.h"
#include "rafter/models/config.h"
#include "rafter/report/trace_report.h"

namespace rafter {

Profile traced_step(const LabOptions& options, const TracedStep& step, const ProbeProgress& progress) {
  const bool gpu = options.device.kind == DeviceKind::cuda;
  const std::string name = !options.model.empty() ? options.model : gpu ? "qwen2.5-1.5b" : "smollm2-135m";
  const Checkpoint checkpoint = Checkpoint::random(shipped_config(name), DType::bf16);
  constexpr int64_t kRoom = 64;  // for the steps that are run after each other
  EngineOptions engine_options;
  engine_options.device = options.device;
  engine_options.executor = device(options.device).has_graphs() ? ExecutorKind::graph : ExecutorKind::eager;
  engine_options.context = step.context + std::max(step.prefill, kRoom);
  engine_options.chunk = std::max(engine_options.chunk, step.prefill);
  Engine engine(checkpoint, engine_options);
  TraceOptions trace;
  trace.context = step.context;
  trace.prefill = step.prefill;
  if (options.quick || step.prefill > 0) trace.repeats = 5;
  const StepTrace made = trace_step(engine, trace, [&](double fraction, const std::string&) {
    if (progress) progress(fraction, step.title);
  });
  Profile profile = read_rafter_json(trace_json(engine, made, "rafter lab"), step.title);
  profile.device = device(options.device).info().name;
  return profile;
}

}  // namespace rafter
