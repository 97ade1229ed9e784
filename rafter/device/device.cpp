#include "rafter/device/device.h"

#include <charconv>
#include <map>
#include <mutex>

#include "rafter/base/error.h"
#include "rafter/device/allocator.h"
#include "rafter/device/cpu/cpu_device.h"
#if defined(RAFTER_WITH_CUDA)
#include "rafter/device/cuda/cuda_device.h"
#endif

namespace rafter {

Device::Device() = default;
Device::~Device() = default;

CachingAllocator& Device::allocator() {
  if (!allocator_) allocator_ = std::make_unique<CachingAllocator>(*this);
  return *allocator_;
}

std::string to_string(DeviceId id) { return id.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", id.index); }

DeviceId parse_device(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {DeviceKind::cuda, 0};
  if (text.starts_with("cuda:")) {
    int index = -1;
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + 5, end, index);
    if (status == std::errc{} && stop == end && index >= 0) return {DeviceKind::cuda, index};
  }
  throw input_error({"the device", "'" + printable(text) + "'", "cpu, cuda or cuda:N", "`rafter info` lists what is usable"});
}

CudaStatus cuda_status() {
#if defined(RAFTER_WITH_CUDA)
  static const CudaStatus status = cuda::status();
  return status;
#else
  return {0, "this build has no CUDA"};
#endif
}

DeviceId default_device() { return cuda_status().devices > 0 ? DeviceId{DeviceKind::cuda, 0} : DeviceId{}; }

namespace {

std::unique_ptr<Device> make(DeviceId id) {
  if (id.kind == DeviceKind::cpu) return make_cpu_device();
  const CudaStatus status = cuda_status();
  if (status.devices == 0) {
    throw input_error({"the device " + to_string(id), "not usable: " + status.reason, {}, "use --device cpu"});
  }
  if (id.index >= status.devices) {
    throw input_error({"the device " + to_string(id), "not there", fmt::format("cuda:0 to cuda:{}", status.devices - 1)});
  }
#if defined(RAFTER_WITH_CUDA)
  return cuda::make_device(id.index);
#else
  return nullptr;
#endif
}

}  // namespace

Device& device(DeviceId id) {
  static std::mutex mutex;
  // Never destroyed: the CUDA runtime may be gone before static destructors run.
  static auto& devices = *new std::map<std::pair<DeviceKind, int>, std::unique_ptr<Device>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<Device>& slot = devices[{id.kind, id.index}];
  if (!slot) slot = make(id);
  return *slot;
}

}  // namespace rafter
