// Records as CUPTI would make them, and the way to give them to its stand-in (cupti.cpp), which is loaded under CUPTI's name.
#pragma once

#include <cupti.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace rafter::stand_in {

using Give = void (*)(const CUpti_Activity* record, size_t bytes);

// The function of a stand-in that this process has loaded; null where it has none.
inline Give loaded_give(const char* library) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  return handle != nullptr ? reinterpret_cast<Give>(::dlsym(handle, "stand_in_give")) : nullptr;
}

template <typename Record>
void give(Give function, const Record& record) {
  function(reinterpret_cast<const CUpti_Activity*>(&record), sizeof record);
}

// Times are in ns after this moment.
constexpr uint64_t kEpoch = 1'700'000'000'000'000'000;

inline CUpti_ActivityKernel9 kernel(const char* name, uint64_t start, uint64_t end, uint32_t correlation, uint64_t node = 0) {
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start == 0 ? 0 : kEpoch + start;
  record.end = end == 0 ? 0 : kEpoch + end;
  record.deviceId = 0;
  record.contextId = 1;
  record.streamId = 7;
  record.correlationId = correlation;
  record.graphNodeId = node;
  record.graphId = node != 0 ? 5 : 0;
  record.gridX = 132;
  record.gridY = 2;
  record.gridZ = 1;
  record.blockX = 256;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 168;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 65536;
  record.localMemoryPerThread = 16;
  return record;
}

inline CUpti_ActivityMemcpy5 copy(CUpti_ActivityMemcpyKind kind, uint64_t bytes, uint64_t start, uint64_t end,
                                  uint32_t correlation) {
  CUpti_ActivityMemcpy5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = static_cast<uint8_t>(kind);
  record.bytes = bytes;
  record.start = kEpoch + start;
  record.end = kEpoch + end;
  record.contextId = 1;
  record.streamId = 7;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityMemset4 fill(uint64_t bytes, uint64_t start, uint64_t end, uint32_t correlation) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.bytes = bytes;
  record.start = kEpoch + start;
  record.end = kEpoch + end;
  record.contextId = 1;
  record.streamId = 7;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityAPI call(CUpti_ActivityKind kind, uint32_t id, uint64_t start, uint64_t end, uint32_t correlation) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = id;
  record.start = kEpoch + start;
  record.end = kEpoch + end;
  record.processId = 1;
  record.threadId = 4325;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityMarker2 marker(CUpti_ActivityFlag flags, uint32_t id, const char* name, uint64_t time) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flags;
  record.id = id;
  record.name = name;
  record.timestamp = kEpoch + time;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 4325;
  return record;
}

inline CUpti_ActivityDevice5 device(uint32_t id, const char* name) {
  CUpti_ActivityDevice5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.id = id;
  record.name = name;
  for (size_t i = 0; i < sizeof record.uuid.bytes; ++i) record.uuid.bytes[i] = static_cast<char>(i);
  return record;
}

}  // namespace rafter::stand_in
