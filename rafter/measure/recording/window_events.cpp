#include "rafter/measure/recording/window_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "rafter/measure/recording/call_name.h"

namespace rafter {

namespace {

constexpr int64_t kLeastLead = 10'000'000;  // ns before the window from which calls are kept

const char* way_of(uint8_t copy_kind) {
  switch (copy_kind) {  // CUpti_ActivityMemcpyKind
    case 1:
      return "host to device";
    case 2:
      return "device to host";
    case 8:
      return "device to device";
    case 9:
      return "host to host";
    case 10:
      return "GPU to GPU";
    default:
      return "of another kind";
  }
}

void sort_by_time(std::vector<RecordedEvent>& events) {
  std::stable_sort(events.begin(), events.end(), [](const RecordedEvent& a, const RecordedEvent& b) {
    return std::tuple(a.start_ns, a.end_ns) < std::tuple(b.start_ns, b.end_ns);
  });
}

}  // namespace

std::string activity_name(const RecordedEvent& event, const std::vector<std::string>& names) {
  if (event.kind == RecordedKind::copy) return fmt::format("copy {}", way_of(event.copy_kind));
  if (event.kind == RecordedKind::fill) return "fill";
  return event.name < names.size() ? names[event.name] : std::string();
}

WindowEvents::WindowEvents(StepWindow window) : window_(std::move(window)) {
  if (window_.empty()) return;
  begin_ns_ = window_.steps.front().start_ns;
  for (const Step& step : window_.steps) end_ns_ = std::max(end_ns_, step.end_ns);
  lead_ns_ = std::max(end_ns_ - begin_ns_, kLeastLead);
}

void WindowEvents::take_name(uint32_t number, std::string_view text) {
  if (number >= names_.size()) names_.resize(size_t{number} + 1);
  names_[number] = text;
}

void WindowEvents::take(const RecordedEvent& event) {
  // What begins when the last step ends is kept: its call tells what the host did before it.
  if (!event.timed() || event.start_ns > end_ns_) return;
  if (event.on_gpu()) {
    if (event.start_ns < begin_ns_) return;
    if (event.device != window_.device) {
      ++other_devices_;
    } else if (gpu_.size() < kMost) {
      gpu_.push_back(event);
    } else {
      ++left_out_;
    }
    return;
  }
  if (event.end_ns < begin_ns_ - lead_ns_) return;
  if (event.kind == RecordedKind::api && calls_.size() < 2 * kMost) calls_.push_back(event);
  if (event.kind == RecordedKind::wait && event.end_ns >= begin_ns_) waits_.push_back(event);
  if (event.kind == RecordedKind::range && event.end_ns >= begin_ns_) ranges_.push_back(event);
}

void WindowEvents::finish() {
  for (auto* events : {&gpu_, &calls_, &waits_, &ranges_}) sort_by_time(*events);
  for (size_t i = 0; i < calls_.size(); ++i) {
    // The runtime's call and the driver's within it may share a number: the outer one began first.
    if (launches_work(name_of(calls_[i]))) launches_.emplace(calls_[i].correlation, i);
  }
}

const RecordedEvent* WindowEvents::launch_of(const RecordedEvent& activity) const {
  const auto known = launches_.find(activity.correlation);
  return activity.correlation == 0 || known == launches_.end() ? nullptr : &calls_[known->second];
}

}  // namespace rafter
