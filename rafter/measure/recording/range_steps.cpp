#include "rafter/measure/recording/range_steps.h"

#include <algorithm>
#include <tuple>

#include "rafter/measure/recording/call_name.h"

namespace rafter {

namespace {

constexpr size_t kNamesOfAMessage = 5;

}  // namespace

void RangeSteps::take_name(uint32_t number, std::string_view text) {
  if (number >= meanings_.size()) {
    meanings_.resize(size_t{number} + 1);
    names_.resize(size_t{number} + 1);
  }
  meanings_[number] = text == name_ ? Meaning::wanted : launches_work(text) ? Meaning::launch : Meaning::other;
  names_[number] = text;
}

void RangeSteps::take(const RecordedEvent& event) {
  if (event.name >= meanings_.size() || !event.timed()) return;
  const Meaning meaning = meanings_[event.name];
  if (event.kind == RecordedKind::api && meaning == Meaning::launch) {
    calls_.push_back({event.start_ns, event.correlation, event.thread});
  } else if (event.kind == RecordedKind::range && meaning == Meaning::wanted) {
    ranges_.push_back({event.start_ns, event.end_ns, event.thread});
  } else if (event.kind == RecordedKind::range && other_names_.size() < kNamesOfAMessage &&
             std::find(other_names_.begin(), other_names_.end(), names_[event.name]) == other_names_.end()) {
    other_names_.push_back(names_[event.name]);
  }
}

// -1: none.
int64_t RangeSteps::range_of(const LoggedLaunch& launch) const {
  const auto call = std::lower_bound(calls_.begin(), calls_.end(), launch.correlation,
                                     [](const Call& c, uint32_t correlation) { return c.correlation < correlation; });
  if (call != calls_.end() && call->correlation == launch.correlation) {
    const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), std::tuple(call->thread, call->start_ns),
                                       [](const auto& at, const Range& r) { return at < std::tuple(r.thread, r.start_ns); });
    if (next == ranges_.begin()) return -1;
    const Range& range = *std::prev(next);
    return range.thread == call->thread && call->start_ns < range.end_ns ? std::prev(next) - ranges_.begin() : -1;
  }
  const auto around = std::find_if(ranges_.begin(), ranges_.end(),
                                   [&](const Range& r) { return r.start_ns <= launch.start_ns && launch.start_ns < r.end_ns; });
  return around == ranges_.end() ? -1 : around - ranges_.begin();
}

std::vector<RangeSteps::Found> RangeSteps::find(const LaunchLog& log, int32_t device) {
  std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.correlation < b.correlation; });
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return std::tuple(a.thread, a.start_ns) < std::tuple(b.thread, b.start_ns); });
  std::vector<Found> found(ranges_.size());
  for (size_t i = 0; i < log.launches().size(); ++i) {
    const LoggedLaunch& launch = log.launches()[i];
    if (log.lanes()[launch.lane].device != device) continue;
    const int64_t range = range_of(launch);
    if (range < 0) continue;
    Found& step = found[static_cast<size_t>(range)];
    if (step.launches++ == 0) step.first = i;
    step.last = i;
  }
  std::erase_if(found, [](const Found& step) { return step.launches == 0; });
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.first < b.first; });
  return found;
}

}  // namespace rafter
