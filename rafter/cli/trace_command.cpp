#include "rafter/cli/trace_command.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/cli/output.h"
#include "rafter/cli/values.h"
#include "rafter/measure/recording/recording_file.h"
#include "rafter/measure/recording/recording_folder.h"
#include "rafter/measure/recording/recording_summary.h"
#include "rafter/measure/recording/steps.h"
#include "rafter/measure/recording/traced_command.h"
#include "rafter/report/perfetto.h"
#include "rafter/report/recording_report.h"

namespace rafter {

namespace {

constexpr const char* kGroup = "A command's trace";
constexpr int64_t kMany = int64_t{1} << 40;

struct ProcessTrace {
  std::string file;
  RecordingNote note;
  RecordingSummary summary;
  std::optional<WindowEvents> events;     // of its steps; none without work on a GPU
  std::optional<RecordedProcess> report;  // the same, explained

  double wall_seconds() const { return static_cast<double>(note.ended_ns - note.began_ns) * 1e-9; }
  double overhead_fraction() const { return wall_seconds() > 0 ? summary.overhead_seconds(note) / wall_seconds() : 0; }
};

// One reading of a recording for two.
class Both : public RecordingSink {
 public:
  Both(RecordingSink& a, RecordingSink& b) : a_(a), b_(b) {}
  void take_name(uint32_t number, std::string_view text) override {
    a_.take_name(number, text);
    b_.take_name(number, text);
  }
  void take(const RecordedEvent& event) override {
    a_.take(event);
    b_.take(event);
  }

 private:
  RecordingSink &a_, &b_;
};

// Read twice: once to find the steps, once for what happened in them, so that memory is bounded by the steps.
ProcessTrace read_process(const std::string& file, const StepChoice& choice) {
  ProcessTrace trace;
  trace.file = file;
  StepFinder finder(choice);
  Both both(trace.summary, finder);
  trace.note = read_recording(file, both);
  StepWindow window = trace.summary.gpu_seconds() > 0 ? finder.find() : StepWindow{};
  if (window.empty()) return trace;
  trace.events.emplace(window);
  read_recording(file, *trace.events);
  trace.events->finish();
  trace.report = RecordedProcess{trace.note, std::move(window), explain(profile_steps(*trace.events))};
  return trace;
}

std::vector<ProcessTrace> read_all(const std::vector<std::string>& files, const CommandTraceOptions& options) {
  std::vector<ProcessTrace> traces;
  for (const std::string& file : files) {
    traces.push_back(read_process(file, {options.range, options.skip, options.steps}));
  }
  return traces;
}

// The one that --perfetto and --html are of; null where no process worked on a GPU.
const ProcessTrace* busiest(const std::vector<ProcessTrace>& traces) {
  const ProcessTrace* most = nullptr;
  for (const ProcessTrace& trace : traces) {
    if (trace.report && (most == nullptr || trace.summary.gpu_seconds() > most->summary.gpu_seconds())) most = &trace;
  }
  return most;
}

void write_files(const std::vector<ProcessTrace>& traces, const CommandTraceOptions& options) {
  const ProcessTrace* most = busiest(traces);
  if (most == nullptr) {
    if (!options.perfetto.empty() || !options.html.empty()) note("rafter: no file was written: nothing ran on a GPU\n");
    return;
  }
  if (!options.perfetto.empty()) {
    std::ofstream out(options.perfetto, std::ios::binary);
    write_perfetto(out, *most->events, most->report->step, most->note);
    out.close();
    if (!out)
      throw Error(Fault::runtime, fmt::format("{} could not be written in whole; expected room and the right to write there.",
                                              in_quotes(options.perfetto)));
  }
  if (!options.html.empty()) write_file(options.html, html(recording_page(*most->report, *most->events)));
}

std::string counts_text(const RecordingSummary& summary) {
  using enum RecordedKind;
  return fmt::format("{}, {}, {}, {}, {}, {}", counted(summary.count(kernel), "kernel"), counted(summary.count(copy), "copy"),
                     counted(summary.count(fill), "fill"), counted(summary.count(api), "call"),
                     counted(summary.count(wait), "wait"), counted(summary.count(range), "range"));
}

std::string line_of(const ProcessTrace& trace) {
  std::string line =
      fmt::format("process {}, {}: {}; GPU work {}; recorder {:.1f}% of {}", trace.note.process,
                  in_quotes(trace.note.command, 60), counts_text(trace.summary), format_seconds(trace.summary.gpu_seconds()),
                  trace.overhead_fraction() * 100, format_seconds(trace.wall_seconds()));
  if (trace.note.dropped > 0) line += fmt::format("; {} lost", counted(trace.note.dropped, "event"));
  if (trace.summary.untimed() > 0) line += fmt::format("; {} without a time", trace.summary.untimed());
  if (!trace.note.complete) line += "; killed, or it still ran: its last moment is missing";
  return line + '\n';
}

Json json_of(const ProcessTrace& trace, const std::string& command_line) {
  Json events;
  for (size_t kind = 0; kind <= static_cast<size_t>(RecordedKind::overhead); ++kind) {
    events[std::string(name(static_cast<RecordedKind>(kind)))] = trace.summary.count(static_cast<RecordedKind>(kind));
  }
  const RecordingNote& note = trace.note;
  return {{"process", note.process},
          {"parent", note.parent},
          {"command", printable(note.command, 4000)},
          {"device", printable(note.device)},
          {"complete", note.complete},
          {"fault", note.fault.empty() ? Json() : Json(printable(note.fault, 1000))},
          {"events", events},
          {"dropped", note.dropped},
          {"wall_s", trace.wall_seconds()},
          {"gpu_s", trace.summary.gpu_seconds()},
          {"overhead_s", trace.summary.overhead_seconds(note)},
          {"step", trace.report ? Json::parse(recording_json(*trace.report, command_line)) : Json()}};
}

std::string report(const std::vector<ProcessTrace>& traces, const std::optional<CommandEnd>& end,
                   const std::string& command_line, bool json, size_t top) {
  if (!json) {
    std::string text;
    for (const ProcessTrace& trace : traces) text += trace.note.fault.empty() ? line_of(trace) : "";
    for (const ProcessTrace& trace : traces) {
      if (trace.report) text += '\n' + recording_text(*trace.report, top);
    }
    return text;
  }
  Json processes = Json::array();
  for (const ProcessTrace& trace : traces) processes.push_back(json_of(trace, command_line));
  const Json document = {{"schema", "rafter.command_trace/1"},
                         {"command", command_line},
                         {"exit_status", end ? Json(end->status) : Json()},
                         {"wall_s", end ? Json(end->seconds) : Json()},
                         {"processes", processes}};
  return to_text(document);
}

void note_faults(const std::vector<ProcessTrace>& traces) {
  for (const ProcessTrace& trace : traces) {
    if (trace.note.fault.empty()) continue;
    note(fmt::format("rafter: process {} was not recorded: {}\n", trace.note.process, printable(trace.note.fault, 1000)));
  }
}

}  // namespace

void add_command_trace_options(CLI::App& command, CommandTraceOptions& options) {
  const auto add = [&](const char* name, std::string& value, const char* type, const char* about) {
    add_word(command, name, value, type, about)->group(kGroup);
  };
  add("--from", options.from, "PATH", "In place of a command: recordings that --keep left, a folder or one file");
  add("--keep", options.keep, "FOLDER", "Keep the recordings, one file for each process");
  add("--range", options.range, "NAME", "The NVTX range that is a step (default: what repeats)");
  add_integer(command, "--skip", options.skip, {0, kMany}, "Steps left out at the beginning")->group(kGroup);
  add_integer(command, "--steps", options.steps, {1, kMany}, "Steps to read (default: all)")->group(kGroup);
  add_integer(command, "--top", options.top, {0, kMany}, "Kernels of the table (default 20; 0: all)")->group(kGroup);
  add("--perfetto", options.perfetto, "FILE", "Write the timeline for Perfetto");
  add_word(command, "--html", options.html, "FILE", "Write a page that needs no network; of a model's trace too");
}

void check_trace_kind(const CLI::App& command, const CommandTraceOptions& options) {
  if (!options.words.empty() && !options.from.empty()) {
    throw input_error({"--from", "given together with a command", "one of the two"});
  }
  if (!options.from.empty() && !options.keep.empty()) {
    throw input_error({"--keep", "given together with --from", "recordings that are kept already"});
  }
  const std::string other = options.chosen() ? (options.words.empty() ? "--from" : "a command") : "a model";
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->check_lname("json") || option->check_lname("html") || option->check_lname("help"))
      continue;
    if ((option->get_group() == kGroup) == options.chosen()) continue;
    const std::string names = option->get_name(false, true);
    throw input_error({names.substr(0, names.find(',')), "given together with " + other,
                       options.chosen() ? "options of a command's trace" : "options of a model's trace",
                       "`rafter trace --help` lists both"});
  }
}

int trace_command(const CommandTraceOptions& options, const std::string& command_line) {
  if (!options.from.empty()) {
    const std::vector<ProcessTrace> traces = read_all(recordings_at(options.from), options);
    write_out(report(traces, std::nullopt, command_line, options.json, static_cast<size_t>(options.top)));
    write_files(traces, options);
    note_faults(traces);
    return 0;
  }
  const std::string library = inject_library();
  const RecordingFolder folder(options.keep);
  const CommandEnd end = run_traced({options.words, library, folder.path()});
  const std::vector<ProcessTrace> traces = read_all(folder.recordings(), options);
  write_out(report(traces, end, command_line, options.json, static_cast<size_t>(options.top)));
  write_files(traces, options);
  note_faults(traces);
  if (traces.empty()) note(fmt::format("rafter: nothing was recorded: {}\n", why_no_recording(options.words)));
  return end.status;
}

}  // namespace rafter
