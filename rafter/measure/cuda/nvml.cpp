#include "rafter/measure/cuda/nvml.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <type_traits>

namespace rafter::cuda {

namespace {

// The few entries of nvml.h that are needed, written out: its C interface is stable, and no header need be there.
using Handle = void*;
enum Clock : unsigned { kSm = 1, kMemory = 2 };

class Nvml {
 public:
  Nvml() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
      return function != nullptr;
    };
    int (*init)() = nullptr;
    ready_ = find(init, "nvmlInit_v2") && find(handle_, "nvmlDeviceGetHandleByPciBusId_v2") &&
             find(clock_, "nvmlDeviceGetClockInfo") && find(driver_, "nvmlSystemGetDriverVersion") && init() == 0;
  }

  GpuState state(int index) const {
    GpuState result;
    char text[96] = {};
    Handle device = nullptr;
    if (!ready_ || cudaDeviceGetPCIBusId(text, sizeof text, index) != cudaSuccess || handle_(text, &device) != 0) return result;
    result.sm_clock_hz = clock_hz(device, kSm);
    result.memory_clock_hz = clock_hz(device, kMemory);
    if (driver_(text, sizeof text) == 0) result.driver = text;
    return result;
  }

 private:
  double clock_hz(Handle device, Clock clock) const {
    unsigned megahertz = 0;
    return clock_(device, clock, &megahertz) == 0 ? megahertz * 1e6 : 0;
  }

  bool ready_ = false;
  int (*handle_)(const char* bus_id, Handle* device) = nullptr;
  int (*clock_)(Handle device, Clock clock, unsigned* megahertz) = nullptr;
  int (*driver_)(char* text, unsigned length) = nullptr;
};

}  // namespace

GpuState nvml_state(int index) {
  static const Nvml nvml;
  return nvml.state(index);
}

}  // namespace rafter::cuda
