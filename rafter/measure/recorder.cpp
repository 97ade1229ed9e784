#include "rafter/measure/recorder.h"

#include <fmt/format.h>

#include "rafter/base/error.h"
#include "rafter/device/device.h"

#if defined(RAFTER_WITH_CUDA)
#include "rafter/measure/cuda/activity_recorder.h"
#endif

namespace rafter {

#if defined(RAFTER_WITH_CUDA)
namespace {

class Tags : public LaunchTags {
 public:
  explicit Tags(cuda::ActivityRecorder& recorder) : recorder_(recorder) {}
  void begin(uint64_t tag) override { recorder_.push_tag(tag); }
  void end() override { recorder_.pop_tag(); }

 private:
  cuda::ActivityRecorder& recorder_;
};

std::string record(RecordingSink& sink, bool tags, const std::function<void(LaunchTags&)>& work) {
  std::unique_ptr<cuda::ActivityRecorder> recorder;
  try {
    recorder = std::make_unique<cuda::ActivityRecorder>(sink, cuda::RecorderOptions{.tags = tags});
    recorder->start();
  } catch (const Error& error) {
    return error.what();
  }
  Tags launch_tags(*recorder);
  work(launch_tags);
  recorder->stop();
  return {};
}

}  // namespace
#endif

std::string record_gpu_tagged(DeviceId device, [[maybe_unused]] RecordingSink& sink,
                              [[maybe_unused]] const std::function<void(LaunchTags&)>& work) {
#if defined(RAFTER_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return record(sink, true, work);
#endif
  return fmt::format("{} has no kernels to record", to_string(device));
}

std::string record_gpu(DeviceId device, [[maybe_unused]] RecordingSink& sink,
                       [[maybe_unused]] const std::function<void()>& work) {
#if defined(RAFTER_WITH_CUDA)
  if (device.kind == DeviceKind::cuda) return record(sink, false, [&](LaunchTags&) { work(); });
#endif
  return fmt::format("{} has no kernels to record", to_string(device));
}

}  // namespace rafter
