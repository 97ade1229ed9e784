#include "rafter/report/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "rafter/base/json_value.h"
#include "rafter/measure/recording/attribution.h"
#include "rafter/measure/recording/tracks.h"

namespace rafter {

namespace {

// The processes of the trace: what they are called is all that a reader sees of them.
constexpr int kHost = 1, kGpu = 2;

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

// Microseconds with three decimals, exactly.
std::string microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::vector<const RecordedEvent*> in_order(const std::vector<RecordedEvent>& events) {
  std::vector<const RecordedEvent*> order;
  for (const RecordedEvent& event : events) order.push_back(&event);
  std::stable_sort(order.begin(), order.end(), [](const RecordedEvent* a, const RecordedEvent* b) {
    return std::tuple(a->start_ns, -a->end_ns) < std::tuple(b->start_ns, -b->end_ns);
  });
  return order;
}

class Writer {
 public:
  Writer(std::ostream& out, const WindowEvents& events, const ExplainedStep& step) : out_(out), events_(events) {
    for (const ExplainedKernel& kernel : step.kernels) {
      if (kernel.floor_seconds) floors_[kernel.launch.name] = *kernel.floor_seconds / kernel.launch.launches;
    }
    base_ns_ = events.window().empty() ? 0 : events.window().steps.front().start_ns;
    for (const auto* list : {&events.gpu(), &events.calls(), &events.waits(), &events.ranges()}) {
      if (!list->empty()) base_ns_ = std::min(base_ns_, list->front().start_ns);
    }
  }

  void write(const RecordingNote& note) {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    name_process(kHost, fmt::format("{} (process {})", note.command.empty() ? "host" : note.command, note.process));
    name_process(kGpu, fmt::format("GPU {} {}", events_.window().device, note.device));
    steps();
    gpu();
    host(events_.calls(), "calls");
    if (events_.calls().empty()) host(events_.waits(), "waits");
    host(events_.ranges(), "ranges");
    out_ << "\n]}\n";
  }

 private:
  void line(const std::string& text) {
    if (!first_) out_ << ",\n";
    first_ = false;
    out_ << text;
  }

  void name_process(int process, const std::string& name) {
    line(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process, quoted(name)));
    line(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", process, -process));
  }

  // The number of a track, which is named when it is first asked for.
  int track(int process, const std::string& name) {
    const auto [known, fresh] = tracks_.try_emplace({process, name}, static_cast<int>(tracks_.size()) + 1);
    if (fresh) {
      line(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process, known->second,
                       quoted(name)));
      line(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process,
                       known->second, known->second));
    }
    return known->second;
  }

  void slice(int process, int track, const char* category, const std::string& name, int64_t start_ns, int64_t end_ns,
             const std::string& args) {
    line(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},"args":{{{}}}}})", process, track,
                     microseconds(start_ns - base_ns_), microseconds(end_ns - start_ns), category, quoted(name), args));
  }

  // Both ends of an arrow lie within their slices; the second binds to the slice around it.
  void arrow_end(const char* phase, int process, int track, int64_t at_ns, uint32_t id) {
    line(fmt::format(R"({{"ph":"{}","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"cat":"launch","name":"launch"}})", phase, id,
                     process, track, microseconds(at_ns - base_ns_)));
  }

  void steps() {
    const int number = track(kGpu, "steps");
    int64_t ended = 0;
    for (size_t i = 0; i < events_.window().steps.size(); ++i) {
      const Step& step = events_.window().steps[i];
      const int64_t start = std::max(step.start_ns, ended);  // ranges of several threads may overlap
      if (step.end_ns < start) continue;
      ended = step.end_ns;
      slice(kGpu, number, "step", fmt::format("step {}", i + 1), start, step.end_ns,
            fmt::format(R"("launches":{})", step.activities));
    }
  }

  std::string args_of(const RecordedEvent& event, const std::string& name, const Attributed& time) const {
    std::string args = fmt::format(R"("own_ns":{},"gap_before_ns":{},"hidden_ns":{},"correlation":{})", time.own_ns,
                                   time.gap_ns, time.hidden_ns, event.correlation);
    if (event.kind != RecordedKind::kernel) return args + fmt::format(R"(,"bytes":{})", event.bytes);
    args +=
        fmt::format(R"(,"grid":[{},{},{}],"block":[{},{},{}],"registers":{},"shared_bytes":{})", event.grid[0], event.grid[1],
                    event.grid[2], event.block[0], event.block[1], event.block[2], event.registers, event.shared_bytes);
    if (event.graph_node != 0) args += fmt::format(R"(,"graph":{},"graph_node":{})", event.graph, event.graph_node);
    const auto floor = floors_.find(name);
    if (floor != floors_.end()) args += fmt::format(R"(,"floor_ns":{:.0f})", floor->second * 1e9);
    return args;
  }

  void gpu() {
    std::vector<Span> spans;
    for (const RecordedEvent& event : events_.gpu()) spans.push_back({event.start_ns, event.end_ns});
    const std::vector<Attributed> times = attribute_once(spans);
    std::map<std::pair<uint32_t, uint32_t>, Tracks> streams;
    for (size_t i = 0; i < spans.size(); ++i) {
      const RecordedEvent& event = events_.gpu()[i];
      auto& stream = streams.try_emplace({event.context, event.stream}, false).first->second;
      const size_t place = stream.place(event.start_ns, event.end_ns);
      const std::string beside = place == 0 ? "" : fmt::format(", overlapping {}", place);
      const std::string context = event.context > 1 ? fmt::format(" of context {}", event.context) : "";
      const int number = track(kGpu, fmt::format("stream {}{}{}", event.stream, context, beside));
      const std::string name = events_.name_of(event);
      slice(kGpu, number, std::string(rafter::name(event.kind)).c_str(), name, event.start_ns, event.end_ns,
            args_of(event, name, times[i]));
      const RecordedEvent* call = events_.launch_of(event);
      if (call && event.end_ns > event.start_ns && arrows_.insert(event.correlation).second) {
        arrow_end("f", kGpu, number, event.start_ns, event.correlation);
      }
    }
  }

  void host(const std::vector<RecordedEvent>& list, const char* what) {
    std::map<uint32_t, Tracks> threads;
    for (const RecordedEvent* event : in_order(list)) {
      const size_t place = threads.try_emplace(event->thread, true).first->second.place(event->start_ns, event->end_ns);
      const std::string beside = place == 0 ? "" : fmt::format(", overlapping {}", place);
      const int number = track(kHost, fmt::format("thread {}: {}{}", event->thread, what, beside));
      slice(kHost, number, std::string(name(event->kind)).c_str(), events_.name_of(*event), event->start_ns, event->end_ns,
            fmt::format(R"("correlation":{})", event->correlation));
      if (event->kind != RecordedKind::api || events_.launch_of(*event) != event) continue;
      if (arrows_.erase(event->correlation) > 0) arrow_end("s", kHost, number, event->start_ns, event->correlation);
    }
  }

  std::ostream& out_;
  const WindowEvents& events_;
  std::map<std::string, double> floors_;  // of one launch, seconds
  int64_t base_ns_ = 0;
  bool first_ = true;
  std::map<std::pair<int, std::string>, int> tracks_;
  std::set<uint32_t> arrows_;  // correlations whose arrow has an end and not yet a beginning
};

}  // namespace

void write_perfetto(std::ostream& out, const WindowEvents& events, const ExplainedStep& step, const RecordingNote& note) {
  Writer(out, events, step).write(note);
}

}  // namespace rafter
