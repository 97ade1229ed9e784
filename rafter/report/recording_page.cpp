// A RecordedProcess as a page: a step in time, the step as a sum, its kernels and what to say of each.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rafter/base/units.h"
#include "rafter/measure/recording/attribution.h"
#include "rafter/measure/recording/tracks.h"
#include "rafter/report/recording_report.h"
#include "rafter/report/waterfall_report.h"

namespace rafter {

namespace {

constexpr size_t kColours = 5;  // kernels with one of their own: those that take longest
constexpr double kNanosecond = 1e-9;

// Kernels that are short share a colour.
class Groups {
 public:
  explicit Groups(const ExplainedStep& step) {
    for (const ExplainedKernel& kernel : step.kernels) {
      short_names_[kernel.launch.name] = kernel.short_name;
      if (kernel.launch.sample.kind == RecordedKind::kernel && own_.size() < kColours) own_.insert(kernel.launch.name);
    }
  }
  std::string of(const RecordedEvent& event, const std::string& name) const {
    if (event.kind != RecordedKind::kernel) return "copies and fills";
    const auto known = short_names_.find(name);
    return own_.count(name) > 0 && known != short_names_.end() ? known->second : "other kernels";
  }

 private:
  std::set<std::string> own_;
  std::map<std::string, std::string> short_names_;
};

std::vector<std::string> remarks_of(const RecordedEvent& event, const Attributed& time) {
  std::vector<std::string> remarks;
  if (time.gap_ns > 0)
    remarks.push_back(fmt::format("{} of nothing before it", format_seconds(static_cast<double>(time.gap_ns) * kNanosecond)));
  if (time.hidden_ns > 0) {
    remarks.push_back(
        fmt::format("{} of it behind earlier launches", format_seconds(static_cast<double>(time.hidden_ns) * kNanosecond)));
  }
  if (event.kind != RecordedKind::kernel) {
    remarks.push_back(format_bytes(static_cast<double>(event.bytes)));
    return remarks;
  }
  remarks.push_back(fmt::format("grid {} x {} x {}, block {} x {} x {}", event.grid[0], event.grid[1], event.grid[2],
                                event.block[0], event.block[1], event.block[2]));
  if (event.registers > 0) {
    remarks.push_back(
        fmt::format("{} registers a thread, {} shared a block", event.registers, format_capacity(event.shared_bytes)));
  }
  return remarks;
}

// Gives each stream a lane, and each that overlaps on it one more.
class Lanes {
 public:
  explicit Lanes(TimelineChart& chart) : chart_(chart) {}
  size_t of(const RecordedEvent& event) {
    auto& tracks = streams_.try_emplace(event.stream, false).first->second;
    const size_t track = tracks.place(event.start_ns, event.end_ns);
    const auto [known, fresh] = lanes_.try_emplace({event.stream, track}, chart_.lanes.size());
    if (fresh) chart_.lanes.push_back(fmt::format("stream {}{}", event.stream, track == 0 ? "" : ", overlapping"));
    return known->second;
  }

 private:
  TimelineChart& chart_;
  std::map<uint32_t, Tracks> streams_;
  std::map<std::pair<uint32_t, size_t>, size_t> lanes_;
};

// The middle one by its place in the window: the first may be warming up.
TimelineChart timeline(const RecordedProcess& p, const WindowEvents& events) {
  const size_t number = p.window.steps.size() / 2;
  const Step& step = p.window.steps[number];
  TimelineChart chart{p.window.whole ? "The recording in time"
                                     : fmt::format("Step {} of the {} measured, in time", number + 1, p.window.steps.size()),
                      {},
                      {}};
  std::vector<const RecordedEvent*> inside;
  std::vector<Span> spans;
  for (const RecordedEvent& event : events.gpu()) {
    if (event.start_ns < step.start_ns || event.start_ns >= step.end_ns) continue;
    inside.push_back(&event);
    spans.push_back({event.start_ns, event.end_ns});
  }
  const std::vector<Attributed> times = attribute_once(spans);
  const Groups groups(p.step);
  Lanes lanes(chart);
  for (size_t i = 0; i < inside.size(); ++i) {
    const RecordedEvent& event = *inside[i];
    const std::string name = events.name_of(event);
    chart.spans.push_back({lanes.of(event), static_cast<double>(event.start_ns - step.start_ns) * kNanosecond,
                           static_cast<double>(event.end_ns - step.start_ns) * kNanosecond, name, groups.of(event, name),
                           remarks_of(event, times[i])});
  }
  return chart;
}

Table kernel_table(const ExplainedStep& step) {
  Table table({{"kernel"},
               {"launches", Align::right},
               {"time", Align::right},
               {"share", Align::right},
               {"gap before", Align::right},
               {"hidden", Align::right},
               {"floor", Align::right},
               {"% of roof", Align::right},
               {"gain", Align::right}});
  for (const ExplainedKernel& k : step.kernels) {
    const auto fraction = k.fraction();
    table.add({k.short_name, fmt::format("{:.4g}", k.launch.launches), format_seconds(k.launch.own_seconds),
               format_share(k.launch.own_seconds, step.profile.seconds), format_seconds(total(k.launch.gaps)),
               format_seconds(k.launch.hidden_seconds), k.floor_seconds ? format_seconds(*k.floor_seconds) : "unknown",
               fraction ? fmt::format("{:.1f}", 100 * *fraction) : "unknown",
               k.gain_seconds ? format_seconds(*k.gain_seconds) : "unknown"});
  }
  return table;
}

Table notes_table(const ExplainedStep& step) {
  Table table(
      {{"kernel"}, {"why it is not faster"}, {"grid x block", Align::right}, {"registers", Align::right}, {"full name"}});
  for (const ExplainedKernel* k : step.which_first()) {
    const RecordedEvent& e = k->launch.sample;
    const int64_t blocks = int64_t{e.grid[0]} * e.grid[1] * e.grid[2], threads = int64_t{e.block[0]} * e.block[1] * e.block[2];
    table.add({k->short_name, k->why(), fmt::format("{} x {}", blocks, threads),
               e.registers > 0 ? std::to_string(e.registers) : "-", k->launch.name});
  }
  return table;
}

Table call_table(const StepProfile& profile) {
  Table table({{"call"}, {"a step", Align::right}, {"time", Align::right}, {"each", Align::right}});
  for (const CallTime& call : profile.calls) {
    table.add({call.name, fmt::format("{:.4g}", call.calls), format_seconds(call.seconds),
               format_seconds(call.seconds / call.calls)});
  }
  return table;
}

std::string summary(const RecordedProcess& p) {
  const StepProfile& s = p.step.profile;
  std::string text =
      fmt::format("{}{} takes {}", p.window.whole ? "" : "The step: " + p.window.how + ". ",
                  p.window.whole ? "The whole recording, in which nothing repeats," : "It", format_seconds(s.seconds));
  if (!p.window.whole)
    text += fmt::format(" (median {} of {} steps, IQR {})", format_seconds(s.median), s.steps, format_seconds(s.iqr));
  return text + fmt::format(". {} of it the GPU works, {} it stands idle between kernels, and {} between steps.",
                            format_seconds(s.own_seconds()), format_seconds(total(s.gaps())), format_seconds(s.host_seconds));
}

}  // namespace

Page recording_page(const RecordedProcess& p, const WindowEvents& events) {
  Page page{"One step, kernel by kernel",
            fmt::format("{}{}", p.note.command.empty() ? fmt::format("process {}", p.note.process) : p.note.command,
                        p.note.device.empty() ? "" : ", on " + p.note.device),
            {}};
  const StepProfile& profile = p.step.profile;
  if (profile.steps == 0) {
    page.sections.push_back({"No step", {Paragraph{p.note.fault.empty() ? p.window.how : p.note.fault}}});
    return page;
  }
  page.sections.push_back({"A step in time", {Paragraph{summary(p)}, timeline(p, events)}});
  page.sections.push_back({"Where its time goes", {waterfall_chart(p.step.fall)}});
  page.sections.push_back({"Kernels", {CaptionedTable{"A step, the longest first", kernel_table(p.step)}}});
  page.sections.push_back(
      {"Which first, and why",
       {CaptionedTable{"What would gain most at its roof, then those whose floor is unknown", notes_table(p.step)}}});
  if (!profile.calls.empty()) {
    page.sections.push_back(
        {"The host",
         {CaptionedTable{profile.knows_calls ? "Calls of the CUDA API in a step, of all threads" : "Waits in a step",
                         call_table(profile)}}});
  }
  Section missing{"What is missing", {}};
  for (const std::string& remark : profile.remarks) missing.blocks.emplace_back(Paragraph{remark + "."});
  if (p.note.dropped > 0)
    missing.blocks.emplace_back(Paragraph{fmt::format("The recorder lost {}.", counted(p.note.dropped, "event"))});
  if (!p.note.complete)
    missing.blocks.emplace_back(Paragraph{"The recording was not closed: the process died, or still runs."});
  if (!missing.blocks.empty()) page.sections.push_back(std::move(missing));
  return page;
}

}  // namespace rafter
