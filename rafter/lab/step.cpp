#include "rafter/lab/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "rafter/engine/engine.h"
#include "rafter/machine/store.h"
#include "rafter/measure/profiles/rafter_json.h"
#include "rafter/models/config.h"
#include "rafter/report/trace_report.h"

namespace rafter {

namespace {

constexpr int64_t kRoom = 64;  // for the steps that are run after each other

Checkpoint checkpoint_for(const LabOptions& options) {
  if (!options.model_file.empty()) return Checkpoint::open(options.model_file);
  const bool gpu = options.device.kind == DeviceKind::cuda;
  return Checkpoint::random(shipped_config(!options.model.empty() ? options.model
                                           : gpu                  ? "qwen2.5-1.5b"
                                                                  : "smollm2-135m"),
                            DType::bf16);
}

EngineOptions engine_options(const LabOptions& options, const ChosenStep& choice) {
  EngineOptions out;
  out.device = options.device;
  out.executor = device(options.device).has_graphs() ? ExecutorKind::graph : ExecutorKind::eager;
  out.context = choice.context + std::max(choice.prefill, kRoom);
  out.chunk = std::max(out.chunk, choice.prefill);
  return out;
}

}  // namespace

Machine roofs_for(const LabOptions& options, const ProbeProgress& progress) {
  Device& target = device(options.device);
  if (auto known = known_machine(target.info()); known && (options.quick || !known->quick)) return *known;
  return run_probes(target, probes(options.device.kind), options.quick, progress);
}

LabStep traced_step(const LabOptions& options, const ChosenStep& choice, const Machine& machine,
                    const ProbeProgress& progress) {
  const Checkpoint checkpoint = checkpoint_for(options);
  Engine engine(checkpoint, engine_options(options, choice));
  TraceOptions trace;
  trace.context = choice.context;
  trace.prefill = choice.prefill;
  if (options.quick || choice.prefill > 0) trace.repeats = 5;
  LabStep step;
  step.model = fmt::format("{} {}", engine.config().name, name(checkpoint.dtype()));
  step.trace = trace_step(engine, trace, [&](double fraction, const std::string&) {
    if (progress) progress(fraction, choice.title);
  });
  add_floors(step.trace, machine);
  step.profile = read_rafter_json(trace_json(engine, step.trace, "rafter lab"), choice.title);
  step.profile.device = device(options.device).info().name;
  return step;
}

}  // namespace rafter
