// A recording written by hand: launches one after the other on streams of a GPU that has a clock, and what the host did.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rafter/measure/recording/recording.h"

namespace rafter {

class MadeUpRecording {
 public:
  int64_t now = 1000;  // ns; a launch begins here and moves it on

  uint32_t number(const std::string& name) {
    const auto [known, fresh] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return known->second;
  }

  RecordedEvent& kernel(const std::string& name, int64_t duration = 100, uint32_t stream = 7, int32_t grid = 1) {
    RecordedEvent event;
    event.name = number(name);
    event.start_ns = now;
    event.end_ns = now + duration;
    event.device = 0;
    event.stream = stream;
    event.grid = {grid, 1, 1};
    event.block = {128, 1, 1};
    event.correlation = ++correlation_;
    now += duration + 10;
    return add(event);
  }
  RecordedEvent& copy(uint8_t kind, int64_t bytes, int64_t duration = 50) {
    RecordedEvent& event = kernel("", duration);
    event.kind = RecordedKind::copy;
    event.copy_kind = kind;
    event.bytes = bytes;
    return event;
  }
  RecordedEvent& host(RecordedKind kind, const std::string& name, int64_t start, int64_t end, uint32_t thread = 1,
                      uint32_t correlation = 0) {
    RecordedEvent event;
    event.kind = kind;
    event.name = number(name);
    event.start_ns = start;
    event.end_ns = end;
    event.thread = thread;
    event.correlation = correlation;
    return add(event);
  }
  // The host has waited for all so far.
  void wait() {
    host(RecordedKind::wait, "stream synchronize", now - 5, now);
    now += 10;
  }

  // Events in the order of last to first, since a recording has none.
  void tell(RecordingSink& sink) const {
    for (size_t i = 0; i < names_.size(); ++i) sink.take_name(static_cast<uint32_t>(i), names_[i]);
    for (auto event = events.rbegin(); event != events.rend(); ++event) sink.take(*event);
  }

  std::vector<RecordedEvent> events;

 private:
  RecordedEvent& add(const RecordedEvent& event) {
    events.push_back(event);
    return events.back();
  }

  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> names_;
  uint32_t correlation_ = 0;
};

}  // namespace rafter
