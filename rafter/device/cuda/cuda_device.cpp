#include "rafter/device/cuda/cuda_device.h"

#include <cuda_runtime.h>

#include <atomic>
#include <string>

#include "rafter/device/cuda/launch.h"

namespace rafter::cuda {

namespace {

std::atomic<bool> g_dependent_launch{true};

std::string remedy_for(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "use a smaller context or batch, or a smaller model";
    case cudaErrorNoKernelImageForDevice:
      return "build with this GPU's architecture in RAFTER_CUDA_ARCHS";
    case cudaErrorInsufficientDriver:
      return "install a driver for this CUDA version or newer";
    default:
      return {};
  }
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

class CudaEvent : public Event {
 public:
  CudaEvent() { check(cudaEventCreate(&event), "creating an event"); }
  ~CudaEvent() override { cudaEventDestroy(event); }
  void wait() override { check(cudaEventSynchronize(event), "waiting for an event"); }
  double seconds_since(const Event& earlier) const override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(earlier).event, event), "reading an event's time");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  cudaEvent_t event = nullptr;
};

class CudaGraph : public Graph {
 public:
  explicit CudaGraph(cudaGraph_t graph) : graph_(graph) {
    check(cudaGraphInstantiate(&executable_, graph_, 0), "instantiating a graph");
  }
  ~CudaGraph() override {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void launch(Stream& stream) override {
    check(cudaGraphLaunch(executable_, static_cast<cudaStream_t>(stream.native())), "launching a graph");
  }
  int nodes() const override {
    size_t count = 0;
    check(cudaGraphGetNodes(graph_, nullptr, &count), "counting a graph's nodes");
    return static_cast<int>(count);
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaStream : public Stream {
 public:
  explicit CudaStream(DeviceId id) : id_(id) {
    check(cudaSetDevice(id.index), "selecting a device");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  }
  ~CudaStream() override { cudaStreamDestroy(stream_); }
  DeviceId device() const override { return id_; }
  void* native() const override { return stream_; }
  void synchronize() override { check(cudaStreamSynchronize(stream_), "running queued work"); }
  void copy_in(void* destination, const void* source, int64_t bytes) override {
    transfer(destination, source, bytes, cudaMemcpyHostToDevice);
  }
  void copy_out(void* destination, const void* source, int64_t bytes) override {
    transfer(destination, source, bytes, cudaMemcpyDeviceToHost);
  }
  void copy(void* destination, const void* source, int64_t bytes) override {
    transfer(destination, source, bytes, cudaMemcpyDeviceToDevice);
  }
  void fill(void* destination, int byte, int64_t bytes) override {
    if (bytes > 0) check(cudaMemsetAsync(destination, byte, static_cast<size_t>(bytes), stream_), "filling device memory");
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(); }
  void record(Event& event) override {
    check(cudaEventRecord(static_cast<CudaEvent&>(event).event, stream_), "recording an event");
  }
  void begin_capture() override {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph capture");
  }
  std::unique_ptr<Graph> end_capture() override {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "ending a graph capture");
    return std::make_unique<CudaGraph>(graph);
  }

 private:
  void transfer(void* destination, const void* source, int64_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpyAsync(destination, source, static_cast<size_t>(bytes), kind, stream_), "copying memory");
  }

  DeviceId id_;
  cudaStream_t stream_ = nullptr;
};

double attribute_hz(cudaDeviceAttr attribute, int index) {
  int kilohertz = 0;
  return cudaDeviceGetAttribute(&kilohertz, attribute, index) == cudaSuccess ? kilohertz * 1e3 : 0;
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int index) : id_{DeviceKind::cuda, index} { select(); }
  DeviceId id() const override { return id_; }
  DeviceInfo info() const override;
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(id_); }
  bool has_graphs() const override { return true; }
  void* allocate_raw(int64_t bytes) override {
    select();
    void* pointer = nullptr;
    const cudaError_t status = cudaMalloc(&pointer, static_cast<size_t>(bytes));
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears it: the caller decides what no memory means
      return nullptr;
    }
    check(status, "allocating device memory");
    return pointer;
  }
  void free_raw(void* pointer) override { cudaFree(pointer); }
  void* allocate_pinned(int64_t bytes) override {
    select();
    void* pointer = nullptr;
    check(cudaMallocHost(&pointer, static_cast<size_t>(bytes)), "allocating pinned host memory");
    return pointer;
  }
  void free_pinned(void* pointer) override { cudaFreeHost(pointer); }

 private:
  void select() const { check(cudaSetDevice(id_.index), "selecting a device"); }
  DeviceId id_;
};

DeviceInfo CudaDevice::info() const {
  select();
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, id_.index), "reading a device's properties");
  DeviceInfo info;
  info.id = id_;
  info.name = properties.name;
  uint64_t hash = 1469598103934665603u;  // FNV-1a: tells machines apart, gives the serial number away to nobody
  for (const char byte : properties.uuid.bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  info.uuid_hash = fmt::format("{:016x}", hash);
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  info.driver = version_text(driver);
  info.runtime = version_text(runtime);
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  size_t free_bytes = 0, total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "reading a device's memory");
  info.memory_bytes = static_cast<int64_t>(total_bytes);
  info.free_bytes = static_cast<int64_t>(free_bytes);
  info.l2_bytes = properties.l2CacheSize;
  info.shared_bytes_per_block = static_cast<int64_t>(properties.sharedMemPerBlockOptin);
  info.clock_hz = attribute_hz(cudaDevAttrClockRate, id_.index);
  info.memory_clock_hz = attribute_hz(cudaDevAttrMemoryClockRate, id_.index);
  return info;
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw runtime_failure({fmt::format("CUDA, {},", call),
                         fmt::format("failed with {} ({})", cudaGetErrorName(status), cudaGetErrorString(status)),
                         {},
                         remedy_for(status)});
}

bool dependent_launch_enabled() { return g_dependent_launch.load(std::memory_order_relaxed); }
void enable_dependent_launch(bool on) { g_dependent_launch.store(on); }

CudaStatus status() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) return {0, "no NVIDIA driver, or one older than this build's CUDA"};
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) return {0, "the driver finds no GPU"};
  if (error != cudaSuccess) return {0, std::string("the CUDA runtime says: ") + cudaGetErrorString(error)};
  return {count, {}};
}

std::unique_ptr<Device> make_device(int index) { return std::make_unique<CudaDevice>(index); }

}  // namespace rafter::cuda
