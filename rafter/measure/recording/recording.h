// What a recorder saw of a process that uses a GPU: kernels, copies, fills, API calls, ranges, waits, in nanoseconds of one
// clock.
//
// A recording comes from CUPTI, within this process (`rafter trace MODEL`) or within another one (`rafter trace -- CMD`, by way
// of a file: recording_file.h). Events come in no order. Whoever reads one takes them one at a time through an RecordingSink,
// so that a long recording needs no more memory than what is kept of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rafter {

enum class RecordedKind : uint8_t {
  kernel,
  copy,      // a memcpy
  fill,      // a memset
  api,       // a call of the CUDA runtime or driver, on the host
  wait,      // a synchronisation, on the host
  range,     // NVTX, on the host
  overhead,  // what recording itself took
};
std::string_view name(RecordedKind kind);

struct RecordedEvent {
  RecordedKind kind = RecordedKind::kernel;
  int64_t start_ns = 0, end_ns = 0;  // both 0: it was not timed
  uint32_t name = 0;  // the number that RecordingSink::take_name told: a kernel's name, demangled; a call's; a range's text
  uint32_t process = 0, thread = 0;  // thread: of the host, of what happened there
  int32_t device = -1;               // of what happened on a GPU
  uint32_t stream = 0, context = 0;
  uint32_t correlation = 0;  // joins a kernel to the call that launched it; all nodes of one graph launch share one
  uint64_t graph_node = 0;   // 0: not launched by a graph
  uint32_t graph = 0;
  uint64_t tag = 0;  // the innermost number that the program had pushed when it launched this; 0: none
  // Of kernels.
  std::array<int32_t, 3> grid{}, block{};
  int32_t registers = 0;     // a thread
  int64_t shared_bytes = 0;  // a block, static and dynamic
  int64_t local_bytes = 0;   // a thread: spills and indexed arrays
  // Of copies and fills.
  int64_t bytes = 0;
  uint8_t copy_kind = 0;  // CUpti_ActivityMemcpyKind: 1 host to device, 2 device to host, 8 device to device ...

  bool operator==(const RecordedEvent&) const = default;
  bool timed() const { return end_ns > 0 && end_ns >= start_ns; }
  bool on_gpu() const { return kind == RecordedKind::kernel || kind == RecordedKind::copy || kind == RecordedKind::fill; }
};

// Takes a recording as it is read. A name is told before the first event that has its number; numbers count from 0 within one
// recording.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  virtual void take_name(uint32_t number, std::string_view text) = 0;
  virtual void take(const RecordedEvent& event) = 0;
};

// What is known of a recording besides its events.
struct RecordingNote {
  int64_t process = 0, parent = 0;
  std::string command;  // of the process, words parted by blanks
  std::string device;   // the first GPU's name
  std::string device_uuid_hash;
  int64_t dropped = 0;    // events that the recorder lost
  bool complete = false;  // it was closed; else the process died, or still runs
  std::string fault;      // why nothing was recorded: another profiler, no GPU ...; empty where something was
  int64_t began_ns = 0, ended_ns = 0;
  int64_t recorder_ns = 0;  // host time spent in the recorder itself
};

}  // namespace rafter
