// A RecordedProcess as text and as a document.
#include "rafter/report/recording_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/report/build_info.h"
#include "rafter/report/table.h"
#include "rafter/report/waterfall_report.h"

namespace rafter {

namespace {

constexpr size_t kNameWidth = 44;
constexpr size_t kFirstKernels = 5;  // of the list of what to work on
constexpr size_t kCalls = 8;

std::string shortened(const std::string& text) {
  return text.size() <= kNameWidth ? text : text.substr(0, kNameWidth - 3) + "...";
}

std::string number_text(double value) {
  return std::fabs(value - std::round(value)) < 0.005 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

std::string heading(const RecordedProcess& p) {
  const StepProfile& s = p.step.profile;
  std::string text =
      fmt::format("Process {}{}{}\n", p.note.process, p.note.command.empty() ? "" : ": " + printable(p.note.command, 200),
                  p.note.device.empty() ? "" : ", on " + p.note.device);
  if (!p.note.fault.empty()) return text + fmt::format("Nothing was recorded: {}\n", p.note.fault);
  if (p.window.empty()) return text + fmt::format("No step: {}.\n", p.window.how);
  text += fmt::format("The step: {}.\n", p.window.how);
  if (p.window.whole) return text + fmt::format("It takes {}.\n", format_seconds(s.seconds));
  return text + fmt::format("{} found, {} measured: {} each (median {}, IQR {}).\n", counted(p.window.found, "step"), s.steps,
                            format_seconds(s.seconds), format_seconds(s.median), format_seconds(s.iqr));
}

std::string kernels_text(const ExplainedStep& step, size_t most) {
  Table table({{"kernel"},
               {"launches", Align::right},
               {"time", Align::right},
               {"IQR", Align::right},
               {"share", Align::right},
               {"gap before", Align::right},
               {"hidden", Align::right},
               {"floor", Align::right},
               {"% of roof", Align::right}});
  const size_t shown = most == 0 ? step.kernels.size() : std::min(most, step.kernels.size());
  for (size_t i = 0; i < shown; ++i) {
    const ExplainedKernel& k = step.kernels[i];
    const auto fraction = k.fraction();
    table.add({shortened(printable(k.short_name)), number_text(k.launch.launches), format_seconds(k.launch.own_seconds),
               format_seconds(k.launch.iqr), format_share(k.launch.own_seconds, step.profile.seconds),
               format_seconds(total(k.launch.gaps)), format_seconds(k.launch.hidden_seconds),
               k.floor_seconds ? format_seconds(*k.floor_seconds) : "unknown",
               fraction ? fmt::format("{:.1f}", 100 * *fraction) : "unknown"});
  }
  table.add({"all of the GPU's work", "", format_seconds(step.profile.own_seconds()), "",
             format_share(step.profile.own_seconds(), step.profile.seconds), format_seconds(total(step.profile.gaps()))});
  std::string text = table.text();
  if (shown < step.kernels.size()) {
    text += fmt::format("{} more: --top 0 shows all\n", counted(static_cast<int64_t>(step.kernels.size() - shown), "kernel"));
  }
  return text;
}

std::string first_text(const ExplainedStep& step) {
  std::string text = "Which kernel first:\n";
  const auto order = step.which_first();
  for (size_t i = 0; i < std::min(kFirstKernels, order.size()); ++i) {
    const ExplainedKernel& k = *order[i];
    const std::string gain = k.gain_seconds ? fmt::format("would gain {} ({})", format_seconds(*k.gain_seconds),
                                                          format_share(*k.gain_seconds, step.profile.seconds))
                                            : fmt::format("takes {}, floor unknown", format_seconds(k.launch.own_seconds));
    text += fmt::format("  {}. {}: {}; {}\n", i + 1, shortened(printable(k.short_name)), gain, k.why());
  }
  return order.empty() ? std::string() : text;
}

std::string host_text(const StepProfile& profile) {
  std::string text = fmt::format("The GPU stands idle {} between steps", format_seconds(profile.host_seconds));
  if (profile.before_call_seconds) {
    text +=
        fmt::format("; {} of it pass before the next step's first call begins", format_seconds(*profile.before_call_seconds));
  }
  text += ".\n";
  if (profile.calls.empty()) return text;
  Table table({{profile.knows_calls ? "call of the host" : "wait of the host"},
               {"a step", Align::right},
               {"time", Align::right},
               {"each", Align::right}});
  for (size_t i = 0; i < std::min(kCalls, profile.calls.size()); ++i) {
    const CallTime& call = profile.calls[i];
    table.add({shortened(printable(call.name)), number_text(call.calls), format_seconds(call.seconds),
               format_seconds(call.seconds / call.calls)});
  }
  return text + '\n' + table.text();
}

std::string remarks_text(const RecordedProcess& p) {
  std::string text;
  for (const std::string& remark : p.step.profile.remarks) text += fmt::format("Note: {}.\n", remark);
  if (p.note.dropped > 0) text += fmt::format("Note: the recorder lost {}.\n", counted(p.note.dropped, "event"));
  if (!p.note.complete) text += "Note: the recording was not closed: the process died, or still runs.\n";
  return text;
}

Json optional_json(const std::optional<double>& value) { return value ? number_or_null(*value) : Json(nullptr); }

Json gaps_json(const Gaps& gaps) { return {{"launch_s", gaps[0]}, {"ramp_s", gaps[1]}, {"unknown_s", gaps[2]}}; }

Json launch_json(const ProfiledLaunch& launch) {
  Json json = {{"name", launch.name},
               {"kind", name(launch.sample.kind)},
               {"launches", launch.launches},
               {"time_s", launch.own_seconds},
               {"iqr_s", launch.iqr},
               {"hidden_s", launch.hidden_seconds},
               {"gaps", gaps_json(launch.gaps)},
               {"latency_s", optional_json(launch.latency_seconds)},
               {"stream", launch.sample.stream},
               {"in_graph", launch.sample.graph_node != 0}};
  if (launch.sample.kind == RecordedKind::kernel) {
    json["grid"] = launch.sample.grid;
    json["block"] = launch.sample.block;
    json["registers"] = launch.sample.registers;
    json["shared_bytes"] = launch.sample.shared_bytes;
    json["local_bytes"] = launch.sample.local_bytes;
  } else {
    json["bytes"] = launch.sample.bytes;
  }
  return json;
}

Json kernel_json(const ExplainedKernel& kernel) {
  Json json = launch_json(kernel.launch);
  json["short_name"] = kernel.short_name;
  json["floor_s"] = optional_json(kernel.floor_seconds);
  json["fraction"] = optional_json(kernel.fraction());
  json["gain_s"] = optional_json(kernel.gain_seconds);
  if (kernel.launch.sample.kind == RecordedKind::kernel) {
    json["limit"] = name(kernel.bottleneck.limit);
    json["evidence"] = kernel.bottleneck.evidence;
  }
  return json;
}

Json step_json(const RecordedProcess& p) {
  const StepProfile& s = p.step.profile;
  return {{"how", p.window.how},
          {"whole", p.window.whole},
          {"found", p.window.found},
          {"samples", s.steps},
          {"device", p.window.device},
          {"stream", p.window.stream},
          {"time_s", number_or_null(s.seconds)},
          {"median_s", number_or_null(s.median)},
          {"iqr_s", number_or_null(s.iqr)},
          {"own_s", number_or_null(s.own_seconds())},
          {"gaps", gaps_json(s.gaps())},
          {"host_s", number_or_null(s.host_seconds)},
          {"before_call_s", optional_json(s.before_call_seconds)},
          {"floor_s", optional_json(p.step.parts.floor_seconds)}};
}

}  // namespace

std::string recording_text(const RecordedProcess& process, size_t most) {
  std::string text = heading(process);
  if (process.step.profile.steps > 0) {
    text += '\n' + kernels_text(process.step, most) + '\n' + waterfall_text(process.step.fall) + '\n' +
            first_text(process.step) + '\n' + host_text(process.step.profile);
  }
  const std::string remarks = remarks_text(process);
  return remarks.empty() ? text : text + '\n' + remarks;
}

std::string recording_json(const RecordedProcess& process, const std::string& command) {
  const ExplainedStep& step = process.step;
  Json json = {{"schema", "rafter.step/1"}, {"process", process.note.process}, {"parent", process.note.parent}};
  json["program"] = process.note.command;
  json["device"] = process.note.device.empty() ? Json(nullptr) : Json(process.note.device);
  json["device_uuid_hash"] = process.note.device_uuid_hash.empty() ? Json(nullptr) : Json(process.note.device_uuid_hash);
  json["fault"] = process.note.fault.empty() ? Json(nullptr) : Json(process.note.fault);
  json["complete"] = process.note.complete;
  json["dropped"] = process.note.dropped;
  json["commit"] = build_info().commit;
  json["dirty"] = build_info().dirty;
  json["command"] = command;
  json["step"] = process.window.empty() ? Json(nullptr) : step_json(process);
  json["waterfall"] = waterfall_json(step.fall);
  json["kernels"] = Json::array();
  for (const ExplainedKernel& kernel : step.kernels) json["kernels"].push_back(kernel_json(kernel));
  json["launches"] = Json::array();
  for (const ProfiledLaunch& launch : step.profile.places) json["launches"].push_back(launch_json(launch));
  json["calls"] = Json::array();
  for (const CallTime& call : step.profile.calls) {
    json["calls"].push_back({{"name", call.name}, {"calls", call.calls}, {"time_s", call.seconds}});
  }
  json["remarks"] = step.profile.remarks;
  return to_text(json);
}

}  // namespace rafter
