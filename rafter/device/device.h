// Devices behind one interface: memory, streams, events and graphs of a CPU or a CUDA GPU.
//
// A Stream runs work in order. On the CPU it runs at once, on the calling thread and the pool; on a GPU it is a
// cudaStream_t. A Graph is captured work that a stream replays; the CPU has none, and says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rafter/device/tensor.h"

namespace rafter {

class CachingAllocator;

std::string to_string(DeviceId id);  // "cpu", "cuda:0"
// "cpu", "cuda", "cuda:N"; an input Error otherwise.
DeviceId parse_device(const std::string& text);

struct DeviceInfo {
  DeviceId id;
  std::string name;             // "NVIDIA H200", or the processor's model name
  std::string uuid_hash;        // 16 hex digits that tell machines apart and give nothing away
  std::string driver, runtime;  // "13.0" each; empty on the CPU
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;  // SMs, or usable cores
  int64_t memory_bytes = 0, free_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes_per_block = 0;
  double clock_hz = 0, memory_clock_hz = 0;  // maximum, as the driver says; 0 when unknown
};

class Event {
 public:
  virtual ~Event() = default;
  virtual void wait() = 0;  // until the work before it is done
  // Time between two recorded and finished events of one stream.
  virtual double seconds_since(const Event& earlier) const = 0;
};

class Stream;

class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(Stream& stream) = 0;
  virtual int nodes() const = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  virtual DeviceId device() const = 0;
  virtual void* native() const = 0;  // cudaStream_t, or null on the CPU
  virtual void synchronize() = 0;

  // Copies between the host and this device, or within the device. The host side of an asynchronous copy must
  // stay valid until the stream has passed it; pinned memory keeps it asynchronous.
  virtual void copy_in(void* device_destination, const void* host_source, int64_t bytes) = 0;
  virtual void copy_out(void* host_destination, const void* device_source, int64_t bytes) = 0;
  virtual void copy(void* destination, const void* source, int64_t bytes) = 0;
  virtual void fill(void* destination, int byte, int64_t bytes) = 0;

  virtual std::unique_ptr<Event> make_event() = 0;
  virtual void record(Event& event) = 0;

  virtual void begin_capture() = 0;
  virtual std::unique_ptr<Graph> end_capture() = 0;
};

class Device {
 public:
  virtual ~Device();
  virtual DeviceId id() const = 0;
  virtual DeviceInfo info() const = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual bool has_graphs() const = 0;

  // Memory straight from the driver. Everything else goes through allocator().
  virtual void* allocate_raw(int64_t bytes) = 0;  // null where there is no room
  virtual void free_raw(void* pointer) = 0;
  // Host memory that the device can copy from without staging.
  virtual void* allocate_pinned(int64_t bytes) = 0;
  virtual void free_pinned(void* pointer) = 0;

  CachingAllocator& allocator();

 protected:
  Device();

 private:
  std::unique_ptr<CachingAllocator> allocator_;
};

// The device of an id, made on first use and kept for the life of the process. Throws an input Error, with the
// reason, where there is none: a CPU-only build, no driver, no such index.
Device& device(DeviceId id);

struct CudaStatus {
  int devices = 0;
  std::string reason;  // why there is none, as one clause: "this build has no CUDA"; empty otherwise
};
CudaStatus cuda_status();

// cuda:0 where it is usable, else the CPU.
DeviceId default_device();

}  // namespace rafter
