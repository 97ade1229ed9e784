// Steps that the program itself marked: each NVTX range of one name is a step.
//
// A kernel runs long after the host has left the range that launched it. It belongs to the range in which its launch call
// began, on the thread of that call; where the call was not recorded, to the range in which the kernel itself began.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/measure/recording/launch_log.h"
#include "rafter/measure/recording/recording.h"

namespace rafter {

class RangeSteps : public RecordingSink {
 public:
  explicit RangeSteps(std::string name) : name_(std::move(name)) {}

  void take_name(uint32_t number, std::string_view text) override;
  void take(const RecordedEvent& event) override;

  struct Found {
    size_t first = 0, last = 0;  // of the log's launches
    int64_t launches = 0;
  };
  // Of a sorted log, the launches of one device; in the order of their first launch. Ranges that launched nothing are left
  // out.
  std::vector<Found> find(const LaunchLog& log, int32_t device);

  size_t ranges() const { return ranges_.size(); }  // of the name
  bool by_calls() const { return !calls_.empty(); }
  const std::vector<std::string>& other_names() const { return other_names_; }  // a few, for a message

 private:
  struct Call {  // 16 bytes of each launch
    int64_t start_ns;
    uint32_t correlation, thread;
  };
  struct Range {
    int64_t start_ns, end_ns;
    uint32_t thread;
  };
  enum class Meaning : uint8_t { other, launch, wanted };  // of a name's number
  int64_t range_of(const LoggedLaunch& launch) const;

  std::string name_;
  std::vector<Meaning> meanings_;
  std::vector<std::string> names_, other_names_;
  std::deque<Call> calls_;     // by correlation, once sorted
  std::vector<Range> ranges_;  // by thread, then by start, once sorted
};

}  // namespace rafter
