// Events to record, and a sink that keeps what it is told.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "rafter/measure/recording/recording.h"

namespace rafter::test {

class KeepingSink : public RecordingSink {
 public:
  void take_name(uint32_t number, std::string_view text) override {
    names.resize(std::max<size_t>(names.size(), number + 1));
    names[number] = text;
  }
  void take(const RecordedEvent& event) override { events.push_back(event); }

  const std::string& name_of(const RecordedEvent& event) const { return names.at(event.name); }
  std::vector<RecordedEvent> of(RecordedKind kind) const {
    std::vector<RecordedEvent> found;
    for (const RecordedEvent& event : events) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }

  std::vector<std::string> names;
  std::vector<RecordedEvent> events;
};

// The `index`th of a made-up program: steps of kernels that a graph launched, with a copy, a call and a wait now and then.
// `names` is how many names there are.
inline RecordedEvent made_up_event(int64_t index, uint32_t names) {
  RecordedEvent event;
  event.kind = static_cast<RecordedKind>(index % 10 < 4 ? 0 : index % 7);
  event.start_ns = 1'700'000'000'000'000'000 + index * 2'000;
  event.end_ns = event.start_ns + 1'500 + index % 977;
  event.name = static_cast<uint32_t>(index * 31 % names);
  event.process = 4321;
  event.correlation = static_cast<uint32_t>(index / 10);
  if (!event.on_gpu()) {
    event.thread = 4325;
    return event;
  }
  event.device = 0;
  event.stream = 7;
  event.context = 1;
  event.graph_node = 0x1'0000'0000 + static_cast<uint64_t>(index % 300);
  event.graph = 12;
  event.tag = static_cast<uint64_t>(index % 3);
  if (event.kind == RecordedKind::kernel) {
    event.grid = {132, 1 + static_cast<int32_t>(index % 5), 1};
    event.block = {256, 1, 1};
    event.registers = 168;
    event.shared_bytes = 98'304;
    event.local_bytes = index % 2 * 16;
  } else {
    event.bytes = 4096 * (index % 100);
    event.copy_kind = event.kind == RecordedKind::copy ? 8 : 0;
  }
  return event;
}

}  // namespace rafter::test
