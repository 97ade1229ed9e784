#include "rafter/cli/trace_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "rafter/base/error.h"
#include "rafter/base/units.h"
#include "rafter/cli/output.h"
#include "rafter/cli/values.h"
#include "rafter/measure/recording/recording_file.h"
#include "rafter/measure/recording/recording_folder.h"
#include "rafter/measure/recording/recording_summary.h"
#include "rafter/measure/recording/traced_command.h"

namespace rafter {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGroup = "A command's trace";
constexpr int64_t kMany = int64_t{1} << 40;

struct ProcessTrace {
  std::string file;
  RecordingNote note;
  RecordingSummary summary;

  double wall_seconds() const { return static_cast<double>(note.ended_ns - note.began_ns) * 1e-9; }
  double overhead_fraction() const { return wall_seconds() > 0 ? summary.overhead_seconds(note) / wall_seconds() : 0; }
};

std::vector<ProcessTrace> read_all(const std::vector<std::string>& files) {
  std::vector<ProcessTrace> traces(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    traces[i].file = files[i];
    traces[i].note = read_recording(files[i], traces[i].summary);
  }
  return traces;
}

std::string counts_text(const RecordingSummary& summary) {
  using enum RecordedKind;
  return fmt::format("{}, {}, {}, {}, {}, {}", counted(summary.count(kernel), "kernel"),
                     summary.count(copy) == 1 ? "1 copy" : fmt::format("{} copies", summary.count(copy)),
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

Json json_of(const ProcessTrace& trace) {
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
          {"overhead_s", trace.summary.overhead_seconds(note)}};
}

std::string report(const std::vector<ProcessTrace>& traces, const std::optional<CommandEnd>& end,
                   const std::string& command_line, bool json) {
  if (!json) {
    std::string text;
    for (const ProcessTrace& trace : traces) text += trace.note.fault.empty() ? line_of(trace) : "";
    return text;
  }
  Json processes = Json::array();
  for (const ProcessTrace& trace : traces) processes.push_back(json_of(trace));
  const Json document = {{"schema", "rafter.command_trace/1"},
                         {"command", command_line},
                         {"exit_status", end ? Json(end->status) : Json()},
                         {"wall_s", end ? Json(end->seconds) : Json()},
                         {"processes", processes}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
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
  add("--perfetto", options.perfetto, "FILE", "Write the timeline for Perfetto");
  add("--html", options.html, "FILE", "Write a page that needs no network");
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
    if (option->count() == 0 || option->check_lname("json") || option->check_lname("help")) continue;
    if ((option->get_group() == kGroup) == options.chosen()) continue;
    const std::string names = option->get_name(false, true);
    throw input_error({names.substr(0, names.find(',')), "given together with " + other,
                       options.chosen() ? "options of a command's trace" : "options of a model's trace",
                       "`rafter trace --help` lists both"});
  }
}

int trace_command(const CommandTraceOptions& options, const std::string& command_line) {
  if (!options.from.empty()) {
    const std::vector<ProcessTrace> traces = read_all(recordings_at(options.from));
    write_out(report(traces, std::nullopt, command_line, options.json));
    note_faults(traces);
    return 0;
  }
  const std::string library = inject_library();
  const RecordingFolder folder(options.keep);
  const CommandEnd end = run_traced({options.words, library, folder.path()});
  const std::vector<ProcessTrace> traces = read_all(folder.recordings());
  write_out(report(traces, end, command_line, options.json));
  note_faults(traces);
  if (traces.empty()) note(fmt::format("rafter: nothing was recorded: {}\n", why_no_recording(options.words)));
  return end.status;
}

}  // namespace rafter
