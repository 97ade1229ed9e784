#include "rafter/measure/recording/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "rafter/base/statistics.h"
#include "rafter/base/units.h"
#include "rafter/measure/recording/attribution.h"

namespace rafter {

namespace {

constexpr double kNanosecond = 1e-9;

double in_seconds(int64_t ns) { return static_cast<double>(ns) * kNanosecond; }

// One activity as attributed.
struct Placed {
  Attributed time;
  GapCause cause = GapCause::unknown;
  int64_t latency_ns = -1;  // -1: says nothing
};

std::vector<Placed> place(const WindowEvents& events) {
  std::vector<Span> spans;
  for (const RecordedEvent& event : events.gpu()) spans.push_back({event.start_ns, event.end_ns});
  const std::vector<Attributed> attributed = attribute_once(spans);
  std::vector<Placed> placed;
  int64_t covered = spans.empty() ? 0 : spans.front().start_ns;
  for (size_t i = 0; i < spans.size(); ++i) {
    const RecordedEvent& event = events.gpu()[i];
    const RecordedEvent* call = events.launch_of(event);
    Placed p{attributed[i], GapCause::unknown, -1};
    const bool follows = i > 0 && event.graph_node != 0 && events.gpu()[i - 1].correlation == event.correlation;
    if (follows || (call && call->end_ns <= covered)) {
      p.cause = GapCause::ramp;
    } else if (call) {
      p.cause = GapCause::launch;
      p.latency_ns = std::max<int64_t>(-1, event.start_ns - call->end_ns);
    }
    covered = std::max(covered, event.end_ns);
    placed.push_back(p);
  }
  return placed;
}

// The activities of one step, those of each stream together, and what is between it and the next.
struct OneStep {
  std::vector<size_t> activities;
  double seconds = 0, host = 0;
  std::optional<double> before_call;
};

OneStep one_step(const WindowEvents& events, const std::vector<Placed>& placed, const Step& step) {
  const auto& gpu = events.gpu();
  const auto at = [&](int64_t ns) {
    const auto found =
        std::lower_bound(gpu.begin(), gpu.end(), ns, [](const RecordedEvent& e, int64_t t) { return e.start_ns < t; });
    return static_cast<size_t>(found - gpu.begin());
  };
  const size_t first = at(step.start_ns), last = at(step.end_ns);
  OneStep one;
  int64_t covered = step.start_ns, ns = 0;
  for (size_t i = first; i < last; ++i) {
    one.activities.push_back(i);
    ns += placed[i].time.own_ns + (i == first ? 0 : placed[i].time.gap_ns);
    covered = std::max(covered, gpu[i].end_ns);
  }
  const int64_t host = std::max<int64_t>(0, step.end_ns - covered);
  one.host = in_seconds(host);
  one.seconds = in_seconds(ns + host);
  const RecordedEvent* next = last < gpu.size() && gpu[last].start_ns == step.end_ns ? events.launch_of(gpu[last]) : nullptr;
  if (next) one.before_call = in_seconds(std::clamp<int64_t>(next->start_ns - covered, 0, host));
  std::stable_sort(one.activities.begin(), one.activities.end(),
                   [&](size_t a, size_t b) { return gpu[a].stream < gpu[b].stream; });
  return one;
}

// What makes two launches one row of a table: their name, which a recording has once.
using Likeness = std::tuple<RecordedKind, uint32_t, uint8_t>;
Likeness likeness_of(const RecordedEvent& event) { return {event.kind, event.name, event.copy_kind}; }

bool alike(const WindowEvents& events, const OneStep& a, const OneStep& b) {
  return std::equal(a.activities.begin(), a.activities.end(), b.activities.begin(), b.activities.end(),
                    [&](size_t x, size_t y) {
                      const RecordedEvent &left = events.gpu()[x], &right = events.gpu()[y];
                      return likeness_of(left) == likeness_of(right) && left.stream == right.stream;
                    });
}

// Adds up launches that share a row, over steps.
class Rows {
 public:
  Rows(const WindowEvents& events, const std::vector<Placed>& placed, size_t steps)
      : events_(events), placed_(placed), steps_(steps) {}

  // `kept`: the step counts for the means; its first launch's gap is the host's.
  void add(size_t row, size_t step, size_t activity, bool kept, bool first) {
    if (row >= rows_.size()) rows_.resize(row + 1);
    Row& r = rows_[row];
    const Placed& p = placed_[activity];
    if (r.own_by_step.empty()) {
      r.own_by_step.resize(steps_);
      r.launch.sample = events_.gpu()[activity];
      r.launch.name = events_.name_of(r.launch.sample);
    }
    r.own_by_step[step] += in_seconds(p.time.own_ns);
    if (p.latency_ns >= 0) r.latencies.push_back(in_seconds(p.latency_ns));
    if (!kept) return;
    ++r.count;
    r.launch.own_seconds += in_seconds(p.time.own_ns);
    r.launch.hidden_seconds += in_seconds(p.time.hidden_ns);
    if (!first) r.launch.gaps[static_cast<size_t>(p.cause)] += in_seconds(p.time.gap_ns);
  }

  std::vector<ProfiledLaunch> means(size_t kept) const {
    std::vector<ProfiledLaunch> out;
    const auto n = static_cast<double>(kept);
    for (const Row& row : rows_) {
      if (row.count == 0) continue;  // in steps that do not count
      ProfiledLaunch launch = row.launch;
      launch.launches = static_cast<double>(row.count) / n;
      launch.own_seconds /= n;
      launch.hidden_seconds /= n;
      for (double& gap : launch.gaps) gap /= n;
      launch.iqr = summarise(row.own_by_step).iqr;
      if (!row.latencies.empty()) launch.latency_seconds = summarise(row.latencies).median;
      out.push_back(std::move(launch));
    }
    return out;
  }

 private:
  struct Row {
    ProfiledLaunch launch{{}, {}, 0, 0, 0, 0, {}, {}};
    int64_t count = 0;
    std::vector<double> own_by_step, latencies;
  };
  const WindowEvents& events_;
  const std::vector<Placed>& placed_;
  size_t steps_;
  std::vector<Row> rows_;
};

void add_launches(StepProfile& profile, const WindowEvents& events, const std::vector<Placed>& placed,
                  const std::vector<OneStep>& steps, const std::vector<size_t>& kept) {
  const bool same =
      std::all_of(kept.begin(), kept.end(), [&](size_t s) { return alike(events, steps[s], steps[kept.front()]); });
  Rows by_name(events, placed, steps.size()), by_place(events, placed, steps.size());
  std::map<Likeness, size_t> names;
  for (size_t s = 0; s < steps.size(); ++s) {
    const bool counts = std::find(kept.begin(), kept.end(), s) != kept.end();
    const auto& activities = steps[s].activities;
    const size_t first = activities.empty() ? 0 : *std::min_element(activities.begin(), activities.end());
    const bool places = same && alike(events, steps[s], steps[kept.front()]);
    for (size_t i = 0; i < activities.size(); ++i) {
      const size_t row = names.try_emplace(likeness_of(events.gpu()[activities[i]]), names.size()).first->second;
      by_name.add(row, s, activities[i], counts, activities[i] == first);
      if (places) by_place.add(i, s, activities[i], counts, activities[i] == first);
    }
  }
  profile.kernels = by_name.means(kept.size());
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const ProfiledLaunch& a, const ProfiledLaunch& b) { return a.own_seconds > b.own_seconds; });
  profile.places = by_place.means(kept.size());
  std::stable_sort(profile.places.begin(), profile.places.end(),
                   [](const ProfiledLaunch& a, const ProfiledLaunch& b) { return a.sample.start_ns < b.sample.start_ns; });
}

// The names of runtime calls carry the version of their signature: "cudaLaunchKernel_v7000".
std::string without_version(const std::string& call) {
  const size_t mark = call.rfind("_v");
  const bool version = mark != std::string::npos && mark + 2 < call.size() &&
                       std::all_of(call.begin() + static_cast<std::ptrdiff_t>(mark) + 2, call.end(),
                                   [](char c) { return c >= '0' && c <= '9'; });
  return version ? call.substr(0, mark) : call;
}

std::vector<CallTime> call_times(const WindowEvents& events) {
  const auto& steps = events.window().steps;
  const auto within = [&](int64_t ns) {
    const auto next = std::upper_bound(steps.begin(), steps.end(), ns, [](int64_t t, const Step& s) { return t < s.start_ns; });
    return next != steps.begin() && ns < std::prev(next)->end_ns;
  };
  std::map<std::string, CallTime> by_name;
  for (const RecordedEvent& call : events.calls().empty() ? events.waits() : events.calls()) {
    if (!within(call.start_ns)) continue;
    const std::string name = without_version(events.name_of(call));
    CallTime& time = by_name[name];
    time.name = name;
    time.calls += 1.0 / static_cast<double>(steps.size());
    time.seconds += in_seconds(call.end_ns - call.start_ns) / static_cast<double>(steps.size());
  }
  std::vector<CallTime> out;
  for (auto& [name, time] : by_name) out.push_back(std::move(time));
  std::stable_sort(out.begin(), out.end(), [](const CallTime& a, const CallTime& b) { return a.seconds > b.seconds; });
  return out;
}

void add_remarks(StepProfile& profile, const WindowEvents& events) {
  const auto say = [&](int64_t count, const char* text) {
    if (count > 0) profile.remarks.push_back(fmt::format(fmt::runtime(text), count));
  };
  if (!profile.knows_calls) {
    profile.remarks.push_back("calls were not recorded, so why there are gaps is not known");
  }
  say(events.window().untimed, "{} kernels, copies and fills of the recording were not timed, and are nowhere here");
  say(events.left_out(), "{} kernels, copies and fills are left out: the step is too long to keep them all");
  say(events.other_devices(), "other GPUs ran {} kernels, copies and fills meanwhile, which are not counted here");
}

double mean_of(const std::vector<double>& values, const std::vector<size_t>& kept) {
  double sum = 0;
  for (const size_t i : kept) sum += values[i];
  return sum / static_cast<double>(kept.size());
}

}  // namespace

double total(const Gaps& gaps) { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

double StepProfile::own_seconds() const {
  double sum = 0;
  for (const ProfiledLaunch& kernel : kernels) sum += kernel.own_seconds;
  return sum;
}

Gaps StepProfile::gaps() const {
  Gaps sum{};
  for (const ProfiledLaunch& kernel : kernels) {
    for (size_t cause = 0; cause < sum.size(); ++cause) sum[cause] += kernel.gaps[cause];
  }
  return sum;
}

StepProfile profile_steps(const WindowEvents& events) {
  StepProfile profile;
  if (events.window().empty() || events.gpu().empty()) return profile;
  const std::vector<Placed> placed = place(events);
  std::vector<OneStep> steps;
  std::vector<double> seconds, host, before_call;
  for (const Step& step : events.window().steps) {
    steps.push_back(one_step(events, placed, step));
    seconds.push_back(steps.back().seconds);
    host.push_back(steps.back().host);
    if (steps.back().before_call) before_call.push_back(*steps.back().before_call);
  }
  const std::vector<size_t> kept = middle_half(seconds);
  const Statistics statistics = summarise(seconds);
  profile.steps = static_cast<int64_t>(steps.size());
  profile.seconds = mean_of(seconds, kept);
  profile.median = statistics.median;
  profile.iqr = statistics.iqr;
  profile.host_seconds = mean_of(host, kept);
  if (!before_call.empty()) profile.before_call_seconds = summarise(before_call).median;
  add_launches(profile, events, placed, steps, kept);
  std::set<uint32_t> streams;
  for (const RecordedEvent& event : events.gpu()) streams.insert(event.stream);
  profile.streams = static_cast<int64_t>(streams.size());
  profile.knows_calls = !events.calls().empty();
  profile.calls = call_times(events);
  add_remarks(profile, events);
  return profile;
}

}  // namespace rafter
