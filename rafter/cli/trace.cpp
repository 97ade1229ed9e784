// `rafter trace MODEL`: one step of a model, op by op. A command's trace is in trace_command.h.
#include "rafter/measure/trace.h"
#include "rafter/base/error.h"
#include "rafter/base/progress.h"
#include "rafter/cli/model_options.h"
#include "rafter/cli/output.h"
#include "rafter/cli/roofs.h"
#include "rafter/cli/trace_command.h"
#include "rafter/cli/values.h"
#include "rafter/cli/verb.h"
#include "rafter/measure/profiles/rafter_json.h"
#include "rafter/report/trace_page.h"
#include "rafter/report/trace_report.h"

namespace rafter {

namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 24;

struct TraceVerbOptions {
  ModelOptions model;
  TraceOptions trace;
  int64_t batch = 1;
  bool layers = false;
  CommandTraceOptions command;  // --json is there, for both
};

// An input Error that names the option at fault: --prefill where it alone is too long, else -d.
void check_room(const TraceOptions& options, int64_t room, int64_t limit) {
  if (room > limit) {
    throw input_error({options.prefill > 0 ? "--prefill" : "the room for a step", std::to_string(room),
                       fmt::format("at most {}, the model's context", limit)});
  }
  if (options.context + room > limit) {
    throw input_error(
        {"-d", std::to_string(options.context),
         fmt::format("at most {}: the model's context of {} less {} for what is traced", limit - room, limit, room)});
  }
}

// What a prefill would ignore: it is of one sequence, and of one chunk.
void check_prefill(const CLI::App& command, const TraceVerbOptions& options) {
  if (options.trace.prefill == 0) return;
  if (options.batch > 1) throw input_error({"-b", std::to_string(options.batch), "1 with --prefill: one sequence is read"});
  if (command.count("--chunk") > 0 && options.model.chunk < options.trace.prefill) {
    throw input_error({"--chunk", std::to_string(options.model.chunk),
                       fmt::format("{} or more, or no --chunk: --prefill {} is traced as one chunk", options.trace.prefill,
                                   options.trace.prefill)});
  }
}

void write_page(const std::string& file, const Engine& engine, const StepTrace& trace, const std::optional<Machine>& machine,
                const std::string& line) {
  Profile profile = read_rafter_json(trace_json(engine, trace, line), "this trace");
  const std::string model = fmt::format("{} {}", engine.config().name, name(engine.checkpoint().dtype()));
  write_file(file, html(trace_page(trace, model, place_kernels(std::move(profile), machine))));
}

int trace(TraceVerbOptions& options, const std::string& line) {
  options.model.chunk = std::max(options.model.chunk, options.trace.prefill);
  LoadedModel model(options.model);
  const int64_t room = trace_room(options.trace, model.device().kind);
  check_room(options.trace, room, model.config().context);
  model.start(options.trace.context + room, options.batch);
  StepTrace made = [&] {
    Progress progress("tracing", std::chrono::milliseconds(0));
    return trace_step(model.engine(), options.trace,
                      [&](double fraction, const std::string& what) { progress.update(fraction, what); });
  }();
  const Roofs roofs = known_roofs(model.engine().options().device);
  if (roofs.machine) add_floors(made, *roofs.machine);
  if (!options.command.html.empty()) write_page(options.command.html, model.engine(), made, roofs.machine, line);
  write_out(options.command.json ? trace_json(model.engine(), made, line) : trace_text(model.engine(), made, options.layers));
  note(roofs.about);
  return 0;
}

}  // namespace

Verb add_trace(CLI::App& app, const std::string& command_line, const std::vector<std::string>& words) {
  CLI::App* command =
      app.add_subcommand("trace", "Where the time goes: of one step of a model, or of any program that uses a GPU");
  command->footer(
      "Bytes are what a perfect kernel moves, each once; FLOPs are what the maths needs; share is of the whole step.\n"
      "The floor is what no kernel can beat at the roofs that `rafter probe` measured; % of roof is floor over time.\n"
      "Examples:\n"
      "  rafter trace model.gguf\n"
      "  rafter trace model.gguf -d 1024 --layers\n"
      "  rafter trace --random-weights qwen2.5-1.5b --prefill 512 --json\n"
      "  rafter trace -- python step.py --batch 8");
  auto options = std::make_shared<TraceVerbOptions>();
  options->command.words = words;
  add_model_choice(*command, options->model);
  add_integer(*command, "-d,--n-depth", options->trace.context, {0, kMaxTokens},
              "Tokens in the cache when the step begins (default 0)");
  add_integer(*command, "--prefill", options->trace.prefill, {1, 16384}, "Trace a prefill of N tokens, not a decode step");
  add_integer(*command, "-b,--batch", options->batch, {1, 256}, "Sequences decoded together (default 1)");
  add_integer(*command, "-r,--repetitions", options->trace.repeats, {1, 100000}, "Times each thing is measured (default 20)");
  command->add_flag("--layers", options->layers, "A row for every layer");
  command->add_flag("--counters", options->trace.counters,
                    "Count bytes and pipes by the hardware as well, beside the modelled bytes");
  command->add_flag("--json", options->command.json,
                    "One JSON object (rafter.trace/1), every layer on its own; of a command rafter.command_trace/1");
  add_execution_options(*command, options->model);
  add_command_trace_options(*command, options->command);
  return {command, [options, command, command_line] {
            check_trace_kind(*command, options->command);
            if (options->command.chosen()) return trace_command(options->command, command_line);
            check_prefill(*command, *options);
            return trace(*options, command_line);
          }};
}

}  // namespace rafter
