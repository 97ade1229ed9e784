#include "rafter/measure/cuda/activity_decoder.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace rafter::cuda {

namespace {

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

// Names of C stay as they are: the demangler would read "a" as a type.
std::string demangled(const char* name) {
  if (std::string_view(name).substr(0, 2) != "_Z") return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

std::string_view copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "copy host to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy device to another";
    default:
      return "copy";  // to or from an array
  }
}

std::string_view wait_name(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "wait for an event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "make a stream wait";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "wait for a stream";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "wait for the device";
    default:
      return "wait";
  }
}

struct Overhead {
  RecordedKind kind;
  std::string_view name;
};

// Some of what CUPTI calls overhead the driver would do without it: that is told as a call.
Overhead overhead_of(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return {RecordedKind::api, "driver: compiling"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return {RecordedKind::overhead, "CUPTI: buffers"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return {RecordedKind::overhead, "CUPTI: instrumentation"};
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return {RecordedKind::overhead, "CUPTI: resources"};
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return {RecordedKind::api, "driver: loading a module"};
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return {RecordedKind::api, "driver: loading a function"};
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return {RecordedKind::api, "driver: command buffer full"};
    default:
      return {RecordedKind::overhead, "CUPTI"};
  }
}

// "cudaLaunchKernel" of "cudaLaunchKernel_v7000": the number is the version that brought the call.
std::string_view without_version(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool versioned = name.size() - digits >= 4 && digits >= 2 && name.substr(digits - 2, 2) == "_v";
  return versioned ? name.substr(0, digits - 2) : name;
}

template <typename Record>
uint32_t thread_of(const Record& record) {
  return record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? record.objectId.pt.threadId : 0;
}

}  // namespace

ActivityDecoder::ActivityDecoder(const Cupti& cupti, RecordingSink& sink, const RecorderOptions& options)
    : cupti_(cupti), sink_(sink), options_(options), process_(static_cast<uint32_t>(::getpid())) {}

RecordedEvent ActivityDecoder::host_event(RecordedKind kind, uint64_t start, uint64_t end, uint32_t thread) const {
  RecordedEvent event;
  event.kind = kind;
  event.start_ns = static_cast<int64_t>(start);
  event.end_ns = static_cast<int64_t>(end);
  event.process = process_;
  event.thread = thread;
  return event;
}

void ActivityDecoder::take(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return take_kernel(as<CUpti_ActivityKernel9>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return take_copy(as<CUpti_ActivityMemcpy5>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return take_copy(as<CUpti_ActivityMemcpyPtoP3>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return take_fill(as<CUpti_ActivityMemset3>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return take_call(as<CUpti_ActivityAPI>(record), CUPTI_CB_DOMAIN_RUNTIME_API);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return take_call(as<CUpti_ActivityAPI>(record), CUPTI_CB_DOMAIN_DRIVER_API);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return take_wait(as<CUpti_ActivitySynchronization>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return take_overhead(as<CUpti_ActivityOverhead>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return take_marker(as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& tag = as<CUpti_ActivityExternalCorrelation>(record);
      if (tag.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) tags_[tag.correlationId] = tag.externalId;
      return;
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return take_device(as<CUpti_ActivityDevice2>(record));
    default:
      return;
  }
}

template <typename Record>
RecordedEvent ActivityDecoder::gpu_event(RecordedKind kind, const Record& record) const {
  RecordedEvent event = host_event(kind, record.start, record.end, 0);
  event.device = static_cast<int32_t>(record.deviceId);
  event.context = record.contextId;
  event.stream = record.streamId;
  event.correlation = record.correlationId;
  event.graph_node = record.graphNodeId;
  event.graph = record.graphId;
  return event;
}

void ActivityDecoder::take_kernel(const CUpti_ActivityKernel9& record) {
  RecordedEvent event = gpu_event(RecordedKind::kernel, record);
  event.name = kernel_name(record.name);
  event.grid = {record.gridX, record.gridY, record.gridZ};
  event.block = {record.blockX, record.blockY, record.blockZ};
  event.registers = record.registersPerThread;
  event.shared_bytes = int64_t{record.staticSharedMemory} + record.dynamicSharedMemory;
  event.local_bytes = record.localMemoryPerThread;
  tell_gpu(event);
}

template <typename Record>
void ActivityDecoder::take_copy(const Record& record) {
  RecordedEvent event = gpu_event(RecordedKind::copy, record);
  event.name = number_of(copy_name(record.copyKind));
  event.bytes = static_cast<int64_t>(record.bytes);
  event.copy_kind = record.copyKind;
  tell_gpu(event);
}

void ActivityDecoder::take_fill(const CUpti_ActivityMemset3& record) {
  RecordedEvent event = gpu_event(RecordedKind::fill, record);
  event.name = number_of("fill");
  event.bytes = static_cast<int64_t>(record.bytes);
  tell_gpu(event);
}

void ActivityDecoder::take_call(const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain) {
  if (!options_.calls) return;  // asked for on behalf of tags
  RecordedEvent event = host_event(RecordedKind::api, record.start, record.end, record.threadId);
  event.name = call_name(domain, record.cbid);
  event.correlation = record.correlationId;
  sink_.take(event);
}

void ActivityDecoder::take_wait(const CUpti_ActivitySynchronization& record) {
  RecordedEvent event = host_event(RecordedKind::wait, record.start, record.end, 0);
  event.name = number_of(wait_name(record.type));
  event.correlation = record.correlationId;
  event.context = record.contextId;
  event.stream = record.streamId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : record.streamId;
  sink_.take(event);
}

void ActivityDecoder::take_overhead(const CUpti_ActivityOverhead& record) {
  const Overhead overhead = overhead_of(record.overheadKind);
  RecordedEvent event = host_event(overhead.kind, record.start, record.end, thread_of(record));
  event.name = number_of(overhead.name);
  sink_.take(event);
}

void ActivityDecoder::take_marker(const CUpti_ActivityMarker2& record) {
  const auto time = static_cast<int64_t>(record.timestamp);
  const bool starts = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  const bool ends = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  const bool instant = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) != 0;
  if (!starts && !ends && !instant) return;
  const auto known = ranges_.try_emplace(uint32_t{record.id}, host_event(RecordedKind::range, 0, 0, thread_of(record))).first;
  RecordedEvent& range = known->second;
  if (!ends) range.start_ns = time, range.name = number_of(record.name != nullptr ? record.name : "");
  if (!starts) range.end_ns = time;
  if (range.start_ns == 0 || range.end_ns == 0) return;
  sink_.take(range);
  ranges_.erase(known);
}

void ActivityDecoder::take_device(const CUpti_ActivityDevice2& record) {
  uint64_t hash = 1469598103934665603u;  // as DeviceInfo::uuid_hash
  for (const char byte : record.uuid.bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  devices_[record.id] = {record.name != nullptr ? record.name : "", fmt::format("{:016x}", hash)};
}

void ActivityDecoder::tell_gpu(const RecordedEvent& event) {
  if (first_device_ < 0) first_device_ = event.device;
  if (options_.tags) {
    held_back_.push_back(event);
  } else {
    sink_.take(event);
  }
}

void ActivityDecoder::finish(int64_t now_ns) {
  for (RecordedEvent& event : held_back_) {
    if (const auto tag = tags_.find(event.correlation); tag != tags_.end()) event.tag = tag->second;
    sink_.take(event);
  }
  held_back_.clear();
  tags_.clear();
  for (auto& [marker, range] : ranges_) {
    if (range.start_ns == 0) continue;  // it began before the recording, without a name
    range.end_ns = now_ns;
    sink_.take(range);
  }
  ranges_.clear();
}

const ActivityDecoder::Device* ActivityDecoder::device() const {
  if (devices_.empty()) return nullptr;
  const auto found = devices_.find(static_cast<uint32_t>(first_device_));
  return found != devices_.end() ? &found->second : &devices_.begin()->second;
}

std::string ActivityDecoder::device_name() const { return device() != nullptr ? device()->name : ""; }
std::string ActivityDecoder::device_uuid_hash() const { return device() != nullptr ? device()->uuid_hash : ""; }

uint32_t ActivityDecoder::kernel_name(const char* mangled) {
  if (mangled == nullptr) mangled = "";
  if (const auto known = kernels_.find(std::string_view(mangled)); known != kernels_.end()) return known->second;
  return kernels_.emplace(mangled, number_of(demangled(mangled))).first->second;
}

uint32_t ActivityDecoder::call_name(CUpti_CallbackDomain domain, CUpti_CallbackId call) {
  if (const auto known = calls_.find({domain, call}); known != calls_.end()) return known->second;
  const char* name = nullptr;
  const bool found = cupti_.get_callback_name(domain, call, &name) == CUPTI_SUCCESS && name != nullptr;
  const uint32_t number = number_of(found ? without_version(name) : fmt::format("call {}", call));
  calls_[{domain, call}] = number;
  return number;
}

uint32_t ActivityDecoder::number_of(std::string_view text) {
  if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.emplace(text, number);
  sink_.take_name(number, text);
  return number;
}

}  // namespace rafter::cuda
