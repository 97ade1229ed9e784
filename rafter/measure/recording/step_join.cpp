#include "rafter/measure/recording/step_join.h"

#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/statistics.h"
#include "rafter/measure/recording/attribution.h"

namespace rafter {

namespace {

constexpr double kNanosecond = 1e-9;

// One launch of a step: whose it is and what it is called.
struct Launch {
  size_t op;
  std::string name;
};

struct Repeat {
  std::vector<Attributed> launches;
  double seconds = 0, between = 0;
};

std::vector<Launch> launches_of(const GpuActivities& tagged, size_t ops) {
  std::vector<Launch> launches;
  for (const RecordedEvent& event : tagged.sorted()) {
    if (event.tag >= 1 && event.tag <= ops) launches.push_back({static_cast<size_t>(event.tag) - 1, tagged.name_of(event)});
  }
  return launches;
}

std::string mismatch(const std::vector<Launch>& launches, const GpuActivities& repeats, const std::vector<RecordedEvent>& all) {
  if (launches.empty()) return "no kernel of a step was recorded";
  if (all.size() < 2 * launches.size() || all.size() % launches.size() != 0) {
    return fmt::format("{} activities were recorded; expected a multiple of the step's {}", all.size(), launches.size());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string found = repeats.name_of(all[i]);
    const std::string& expected = launches[i % launches.size()].name;
    if (found != expected) return fmt::format("activity {} is '{}'; the step has '{}' there", i, found, expected);
  }
  return {};
}

// The last repeat has no next one, and is left out.
std::vector<Repeat> split(const std::vector<RecordedEvent>& all, size_t length) {
  std::vector<Span> spans;
  for (const RecordedEvent& event : all) spans.push_back({event.start_ns, event.end_ns});
  const std::vector<Attributed> attributed = attribute_once(spans);
  std::vector<Repeat> repeats;
  for (size_t first = 0; first + 2 * length <= all.size(); first += length) {
    Repeat repeat;
    repeat.launches.assign(attributed.begin() + static_cast<std::ptrdiff_t>(first),
                           attributed.begin() + static_cast<std::ptrdiff_t>(first + length));
    repeat.launches.front().gap_ns = 0;  // counted with the repeat before
    repeat.between = static_cast<double>(attributed[first + length].gap_ns) * kNanosecond;
    for (const Attributed& a : repeat.launches) repeat.seconds += static_cast<double>(a.own_ns + a.gap_ns) * kNanosecond;
    repeat.seconds += repeat.between;
    repeats.push_back(std::move(repeat));
  }
  return repeats;
}

// By repeat and op, in seconds.
std::vector<std::vector<double>> sums(const std::vector<Repeat>& repeats, const std::vector<Launch>& launches, size_t ops,
                                      int64_t Attributed::*part) {
  std::vector<std::vector<double>> out(repeats.size(), std::vector<double>(ops));
  for (size_t r = 0; r < repeats.size(); ++r) {
    for (size_t i = 0; i < launches.size(); ++i) {
      out[r][launches[i].op] += static_cast<double>(repeats[r].launches[i].*part) * kNanosecond;
    }
  }
  return out;
}

double mean(const std::vector<std::vector<double>>& values, const std::vector<size_t>& kept, size_t op) {
  double sum = 0;
  for (const size_t r : kept) sum += values[r][op];
  return sum / static_cast<double>(kept.size());
}

std::vector<StepSpan> example_of(const std::vector<RecordedEvent>& all, const std::vector<Launch>& launches) {
  const size_t first = all.size() / launches.size() / 2 * launches.size();
  const auto since = [&](int64_t ns) { return static_cast<double>(ns - all[first].start_ns) * kNanosecond; };
  std::vector<StepSpan> spans;
  for (size_t i = 0; i < launches.size(); ++i) {
    const RecordedEvent& event = all[first + i];
    spans.push_back({launches[i].op, launches[i].name, since(event.start_ns), since(event.end_ns)});
  }
  return spans;
}

}  // namespace

void GpuActivities::take_name(uint32_t number, std::string_view text) {
  if (number >= names_.size()) names_.resize(size_t{number} + 1);
  names_[number] = text;
}

void GpuActivities::take(const RecordedEvent& event) {
  if (!event.on_gpu()) return;
  if (event.timed()) {
    events_.push_back(event);
  } else {
    ++untimed_;
  }
}

std::vector<RecordedEvent> GpuActivities::sorted() const {
  std::vector<RecordedEvent> all = events_;
  std::stable_sort(all.begin(), all.end(), [](const RecordedEvent& a, const RecordedEvent& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
  });
  return all;
}

std::string GpuActivities::name_of(const RecordedEvent& event) const {
  if (event.kind != RecordedKind::kernel) return std::string(name(event.kind));
  return event.name < names_.size() ? names_[event.name] : std::string();
}

RecordedStep join_step(const GpuActivities& tagged, const GpuActivities& repeats, size_t ops) {
  RecordedStep step;
  const std::vector<Launch> launches = launches_of(tagged, ops);
  const std::vector<RecordedEvent> all = repeats.sorted();
  step.why_not = mismatch(launches, repeats, all);
  if (!step.why_not.empty()) return step;

  const std::vector<Repeat> parts = split(all, launches.size());
  std::vector<double> seconds, between;
  for (const Repeat& part : parts) {
    seconds.push_back(part.seconds);
    between.push_back(part.between);
  }
  const std::vector<size_t> kept = middle_half(seconds);
  for (const size_t r : kept) {
    step.seconds += seconds[r] / static_cast<double>(kept.size());
    step.between_seconds += between[r] / static_cast<double>(kept.size());
  }
  step.iqr = summarise(seconds).iqr;
  step.repeats = static_cast<int64_t>(parts.size());
  step.example = example_of(all, launches);

  const auto own = sums(parts, launches, ops, &Attributed::own_ns), gap = sums(parts, launches, ops, &Attributed::gap_ns),
             hidden = sums(parts, launches, ops, &Attributed::hidden_ns);
  step.ops.resize(ops);
  for (size_t op = 0; op < ops; ++op) {
    std::vector<double> samples;
    for (const auto& repeat : own) samples.push_back(repeat[op]);
    step.ops[op] = {{}, mean(own, kept, op), mean(gap, kept, op), mean(hidden, kept, op), summarise(samples).iqr};
  }
  for (const Launch& launch : launches) step.ops[launch.op].kernels.push_back(launch.name);
  return step;
}

}  // namespace rafter
