#include "rafter/measure/recording/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "rafter/base/error.h"
#include "rafter/base/units.h"
#include "rafter/measure/recording/call_name.h"
#include "rafter/measure/recording/period.h"

namespace rafter {

namespace {

constexpr double kLeastCoverage = 0.25;      // of the latter part of a recording, for a period to be what it does
constexpr double kLate = 0.75;               // of a recording: what a program settles into goes on until then
constexpr double kNearlyAlways = 0.8;        // of the repeats that a wait or a graph launch must precede
constexpr int64_t kMostSteps = 100;          // medians gain little from more
constexpr int64_t kMostActivities = 500000;  // of all steps together, so that their events fit in memory
constexpr int64_t kFewestSteps = 3;

// One stream's launches in order, as symbols: 14 bytes each.
struct Sequence {
  const LaunchLog& log;
  std::vector<uint32_t> places;  // in the log
  std::vector<uint32_t> likeness, names;
  std::vector<uint8_t> after_wait, begins_graph;

  size_t size() const { return places.size(); }
  const LoggedLaunch& launch(size_t i) const { return log.launches()[places[i]]; }
  int64_t idle_before(size_t i) const { return i == 0 ? 0 : std::max<int64_t>(0, launch(i).start_ns - launch(i - 1).end_ns()); }
};

size_t busiest(const std::vector<LaunchLane>& lanes) {
  const auto less = [](const LaunchLane& a, const LaunchLane& b) { return a.busy_ns < b.busy_ns; };
  return static_cast<size_t>(std::max_element(lanes.begin(), lanes.end(), less) - lanes.begin());
}

// A launch comes after a wait when the wait ended between the launch before it and itself.
void mark_waits(Sequence& s, std::vector<int64_t> waits) {
  std::sort(waits.begin(), waits.end());
  size_t w = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    while (w < waits.size() && i > 0 && waits[w] < s.launch(i - 1).end_ns()) ++w;
    if (w < waits.size() && waits[w] <= s.launch(i).start_ns) s.after_wait[i] = 1;
  }
}

Sequence sequence_of(const LaunchLog& log, size_t lane, const std::vector<int64_t>& waits) {
  Sequence s{log, {}, {}, {}, {}, {}};
  const size_t count = log.lanes()[lane].launches;
  s.places.reserve(count);
  s.likeness.reserve(count);
  s.names.reserve(count);
  s.begins_graph.reserve(count);
  uint32_t place = 0;
  for (const LoggedLaunch& launch : log.launches()) {
    const uint32_t here = place++;
    if (launch.lane != lane) continue;
    s.begins_graph.push_back(launch.in_graph && (s.size() == 0 || s.launch(s.size() - 1).correlation != launch.correlation));
    s.places.push_back(here);
    s.likeness.push_back(launch.likeness);
    s.names.push_back(launch.name);
  }
  s.after_wait.resize(count);
  mark_waits(s, waits);
  return s;
}

enum class Reason : uint8_t { wait, graph, length };

struct Candidate {
  const std::vector<uint32_t>* symbols = nullptr;
  Period period;
  Reason reason = Reason::length;
  size_t phase = 0;   // where in the period the step begins
  bool late = false;  // it goes on until late
};

// In how many of the repeats the place `phase` has a mark, as a share.
std::vector<double> marked(const std::vector<uint8_t>& marks, const std::vector<size_t>& starts, size_t length) {
  std::vector<double> share(length);
  for (const size_t start : starts) {
    for (size_t i = 0; i < length; ++i) share[i] += marks[start + i];
  }
  for (double& value : share) value /= static_cast<double>(starts.size());
  return share;
}

std::optional<size_t> phase_of(const std::vector<uint8_t>& marks, const std::vector<size_t>& starts, size_t length) {
  const std::vector<double> share = marked(marks, starts, length);
  const auto most = std::max_element(share.begin(), share.end());
  if (most == share.end() || *most < kNearlyAlways) return std::nullopt;
  return static_cast<size_t>(most - share.begin());
}

// With no mark to go by: after the longest pause, where there is one; else where the very first run began, a prefill
// of the same kernels counted in.
size_t phase_by_pause(const Sequence& s, const Candidate& c, const std::vector<size_t>& starts) {
  std::vector<int64_t> idle(c.period.length);
  for (const size_t start : starts) {
    for (size_t i = 0; i < idle.size(); ++i) idle[i] += s.idle_before(start + i);
  }
  const auto most = std::max_element(idle.begin(), idle.end());
  const bool alone =
      std::all_of(idle.begin(), idle.end(), [&](const int64_t& other) { return &other == &*most || 2 * other < *most; });
  if (alone && *most > 0) return static_cast<size_t>(most - idle.begin());
  size_t first = starts.front();
  while (first > 0 && s.names[first - 1] == s.names[first - 1 + c.period.length]) --first;
  const size_t back = (starts.front() - first) % c.period.length;
  return back == 0 ? 0 : c.period.length - back;
}

std::vector<Candidate> candidates(const Sequence& s) {
  std::vector<Candidate> all;
  for (const auto* symbols : {&s.likeness, &s.names}) {
    for (const Period& period : periods_of(*symbols)) {
      if (period.coverage < kLeastCoverage) continue;
      Candidate c{symbols, period, Reason::length, 0, false};
      const std::vector<size_t> starts = occurrences(*symbols, period.first, period.length);
      c.late = static_cast<double>(starts.back() + period.length) >= kLate * static_cast<double>(symbols->size());
      const bool often = static_cast<int64_t>(starts.size()) > kFewestSteps;  // else its waits may be a coincidence
      if (const auto phase = phase_of(s.after_wait, starts, period.length); phase && often) {
        c.reason = Reason::wait;
        c.phase = *phase;
      } else if (const auto graph = phase_of(s.begins_graph, starts, period.length); graph && symbols == &s.likeness) {
        c.reason = Reason::graph;
        c.phase = *graph;
      } else {
        c.phase = phase_by_pause(s, c, starts);
      }
      all.push_back(c);
    }
  }
  return all;
}

// What goes on until late comes before what ended: a compiler that times its candidates waits after each, for a minute perhaps,
// and the program's own steps come after it. Then the order of the header; of the same length the stricter likeness, which
// comes first.
bool comes_before(const Candidate& a, const Candidate& b) {
  if (a.late != b.late) return a.late;
  if (a.reason != b.reason) return a.reason < b.reason;
  return a.reason == Reason::length ? a.period.length > b.period.length : a.period.length < b.period.length;
}

std::optional<Candidate> best(const std::vector<Candidate>& all) {
  std::optional<Candidate> chosen;
  for (const Candidate& c : all) {
    if (!chosen || comes_before(c, *chosen)) chosen = c;
  }
  return chosen;
}

// A step ends where whatever comes next begins. The very last has nothing after it, and how long the host took there is not
// known.
Step step_of(const Sequence& s, size_t first, size_t length) {
  return {s.launch(first).start_ns, s.launch(first + length).start_ns, static_cast<int64_t>(length)};
}

std::vector<Step> repeating(const Sequence& s, std::string& how) {
  const auto chosen = best(candidates(s));
  if (!chosen) return {};
  const Period& period = chosen->period;
  std::vector<Step> steps;
  for (const size_t first : occurrences(*chosen->symbols, period.first + chosen->phase, period.length)) {
    if (first + period.length < s.size()) steps.push_back(step_of(s, first, period.length));
  }
  const char* by = chosen->symbols == &s.names ? " by their names alone" : "";
  const char* where = chosen->reason == Reason::wait    ? ", each after the host had waited for the GPU"
                      : chosen->reason == Reason::graph ? ", each with the launch of a graph"
                                                        : "";
  const std::string what = period.length == 1 ? "one launch" : fmt::format("{} launches in a row", period.length);
  how = fmt::format("{} repeat{}{}{}", what, period.length == 1 ? "s" : "", by, where);
  return steps;
}

// Steps of any length that begin alike after a wait.
std::vector<Step> between_waits(const Sequence& s, std::string& how) {
  std::unordered_map<uint16_t, int64_t> begins;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s.after_wait[i]) ++begins[s.launch(i).name];
  }
  const auto most =
      std::max_element(begins.begin(), begins.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == begins.end() || most->second <= kFewestSteps) return {};
  std::vector<Step> steps;
  std::optional<size_t> first;
  for (size_t i = 0; i < s.size(); ++i) {
    if (!s.after_wait[i] || s.launch(i).name != most->first) continue;
    if (first) steps.push_back(step_of(s, *first, i - *first));
    first = i;
  }
  how =
      "no sequence of launches repeats exactly; a step is what lies between two waits of the host after which the same kernel "
      "comes first";
  return steps;
}

Step whole_of(const LaunchLog& log, int32_t device) {
  Step step;
  for (const LoggedLaunch& launch : log.launches()) {
    if (log.lanes()[launch.lane].device != device) continue;
    if (step.activities++ == 0) step.start_ns = launch.start_ns;
    step.end_ns = std::max(step.end_ns, launch.end_ns());
  }
  return step;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

std::vector<Step> of_ranges(RangeSteps& ranges, const LaunchLog& log, int32_t device, const std::string& name,
                            std::string& how) {
  const std::vector<RangeSteps::Found> found = ranges.find(log, device);
  if (found.empty()) {
    const bool none = ranges.ranges() == 0;
    throw input_error({"--range", in_quotes(name),
                       none ? "the name of an NVTX range of the program" : "a range in which the GPU was given work",
                       ranges.other_names().empty() ? "No NVTX range was recorded: leave --range out"
                                                    : "It has " + listed(ranges.other_names())});
  }
  std::vector<Step> steps;
  for (const RangeSteps::Found& f : found) {
    const bool last = f.last + 1 == log.launches().size();
    const LoggedLaunch& end = log.launches()[f.last];
    steps.push_back({log.launches()[f.first].start_ns, last ? end.end_ns() : log.launches()[f.last + 1].start_ns, f.launches});
  }
  how = fmt::format("each NVTX range {} is a step; a launch belongs to the range {}", in_quotes(name),
                    ranges.by_calls() ? "in which its thread made it" : "in which it began, since calls were not recorded");
  return steps;
}

// The last steps, unless the user says which.
void choose(StepWindow& window, std::vector<Step> found, const StepChoice& choice) {
  window.found = static_cast<int64_t>(found.size());
  if (choice.skip >= window.found) {
    throw input_error({"--skip", std::to_string(choice.skip),
                       fmt::format("less than the {} found", counted(window.found, "step")), "Skip fewer, or record longer"});
  }
  int64_t first = choice.skip, count = window.found - choice.skip;
  if (choice.steps > 0) {
    count = std::min(count, choice.steps);
  } else {
    const int64_t each = std::max<int64_t>(1, found.back().activities);
    const int64_t most = std::clamp(kMostActivities / each, kFewestSteps, kMostSteps);
    first += std::max<int64_t>(0, count - most);
    count = std::min(count, most);
  }
  window.steps.assign(found.begin() + first, found.begin() + first + count);
}

}  // namespace

void StepFinder::take_name(uint32_t number, std::string_view text) {
  if (number >= is_wait_.size()) is_wait_.resize(size_t{number} + 1);
  is_wait_[number] = waits_for_gpu(text);
  ranges_.take_name(number, text);
}

void StepFinder::take(const RecordedEvent& event) {
  if (event.on_gpu()) {
    log_.take(event);
    return;
  }
  if (event.kind == RecordedKind::wait && event.timed()) waits_.push_back(event.end_ns);
  if (event.kind == RecordedKind::api && event.timed() && event.name < is_wait_.size() && is_wait_[event.name]) {
    waiting_calls_.push_back(event.end_ns);
  }
  if (!choice_.range.empty()) ranges_.take(event);
}

StepWindow StepFinder::find() {
  StepWindow window;
  window.untimed = log_.untimed();
  if (log_.launches().empty()) {
    window.how = "nothing was timed on a GPU";
    return window;
  }
  log_.sort();
  const size_t lane = busiest(log_.lanes());
  window.device = log_.lanes()[lane].device;
  window.context = log_.lanes()[lane].context;
  window.stream = log_.lanes()[lane].stream;
  std::vector<Step> found;
  if (!choice_.range.empty()) {
    found = of_ranges(ranges_, log_, window.device, choice_.range, window.how);
  } else {
    const Sequence sequence = sequence_of(log_, lane, waits_.empty() ? waiting_calls_ : waits_);
    found = repeating(sequence, window.how);
    if (found.size() < 2) found = between_waits(sequence, window.how);
    if (found.size() < 2) {
      window.whole = true;
      window.how = "nothing on the GPU repeats three times in a row: the whole recording is one step";
      found = {whole_of(log_, window.device)};
    }
  }
  choose(window, std::move(found), choice_);
  return window;
}

}  // namespace rafter
