// Turns CUPTI's records into events, one at a time: names are told once, range starts are joined to their ends, kernels to the
// tags of the calls that launched them.
//
// Records come in no order, so each side of a join waits for the other. Structs are those of CUDA 12.0: later ones begin alike.
#pragma once

#include <cupti.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rafter/measure/cuda/activity_recorder.h"
#include "rafter/measure/cuda/cupti.h"

namespace rafter::cuda {

class ActivityDecoder {
 public:
  ActivityDecoder(const Cupti& cupti, RecordingSink& sink, const RecorderOptions& options);

  void take(const CUpti_Activity& record);
  // All records were taken: tells what waited. Ranges that are still open end at `now_ns`.
  void finish(int64_t now_ns);

  // Of the GPU whose work was recorded first, else of the first one; empty before either was seen.
  std::string device_name() const;
  std::string device_uuid_hash() const;

 private:
  struct Device {
    std::string name, uuid_hash;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Numbers = std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>>;

  RecordedEvent host_event(RecordedKind kind, uint64_t start, uint64_t end, uint32_t thread) const;
  template <typename Record>
  RecordedEvent gpu_event(RecordedKind kind, const Record& record) const;
  void take_kernel(const CUpti_ActivityKernel9& record);
  template <typename Record>
  void take_copy(const Record& record);
  void take_fill(const CUpti_ActivityMemset3& record);
  void take_call(const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain);
  void take_wait(const CUpti_ActivitySynchronization& record);
  void take_overhead(const CUpti_ActivityOverhead& record);
  void take_marker(const CUpti_ActivityMarker2& record);
  void take_device(const CUpti_ActivityDevice2& record);

  void tell_gpu(const RecordedEvent& event);
  const Device* device() const;
  uint32_t kernel_name(const char* mangled);
  uint32_t call_name(CUpti_CallbackDomain domain, CUpti_CallbackId call);
  uint32_t number_of(std::string_view text);

  const Cupti& cupti_;
  RecordingSink& sink_;
  const RecorderOptions options_;
  const uint32_t process_;
  Numbers texts_, kernels_;  // kernels_: by their mangled names
  std::map<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>, uint32_t> calls_;
  std::unordered_map<uint32_t, RecordedEvent> ranges_;  // of which one end was seen, by marker
  std::unordered_map<uint32_t, uint64_t> tags_;         // by correlation
  std::vector<RecordedEvent> held_back_;                // until all tags are known
  std::map<uint32_t, Device> devices_;
  int32_t first_device_ = -1;
};

}  // namespace rafter::cuda
