// A stand-in for libcupti.so: records are given to it by whoever stands in for the driver, and reach the recorder through the
// real callbacks, in buffers, when it is flushed or a buffer is full.
//
// STAND_IN_SUBSCRIBE is the result of subscribing (39: another profiler holds CUPTI), STAND_IN_VERSION the version it claims,
// STAND_IN_DROPPED how many records it says were dropped.
#include <cupti.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "tests/stand_in/stand_in.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// In a buffer each record has its size before it.
constexpr size_t kSizeBytes = 8;

struct State {
  std::recursive_mutex mutex;  // a record that does not fit completes a buffer, whose callback asks for records
  std::set<CUpti_ActivityKind> kinds;
  CUpti_BuffersCallbackRequestFunc requested = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed = nullptr;
  bool subscribed = false;
  uint8_t* buffer = nullptr;
  size_t bytes = 0, filled = 0;
  size_t dropped = 0;
};

State& state() {
  static auto* const the_state = new State;
  return *the_state;
}

thread_local std::vector<uint64_t> external_ids;

uint64_t number(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

void complete() {
  State& s = state();
  if (s.buffer == nullptr) return;
  uint8_t* const buffer = s.buffer;
  s.buffer = nullptr;
  s.completed(nullptr, 0, buffer, s.bytes, s.filled);
}

void append(const void* record, size_t bytes) {
  State& s = state();
  if (s.buffer != nullptr && s.filled + kSizeBytes + bytes > s.bytes) complete();
  if (s.buffer == nullptr) {
    size_t most = 0;
    s.requested(&s.buffer, &s.bytes, &most);
    s.filled = 0;
    if (s.buffer == nullptr) {
      ++s.dropped;
      return;
    }
  }
  std::memcpy(s.buffer + s.filled, &bytes, sizeof bytes);
  std::memcpy(s.buffer + s.filled + kSizeBytes, record, bytes);
  s.filled += kSizeBytes + (bytes + 7) / 8 * 8;
}

}  // namespace

EXPORT void stand_in_give(const CUpti_Activity* record, size_t bytes) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const bool call = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
  if (s.kinds.count(record->kind) == 0) return;
  if (call && !external_ids.empty() && s.kinds.count(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) != 0) {
    CUpti_ActivityExternalCorrelation external{};
    external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    external.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    external.externalId = external_ids.back();
    external.correlationId = reinterpret_cast<const CUpti_ActivityAPI*>(record)->correlationId;
    append(&external, sizeof external);
  }
  append(record, bytes);
}

EXPORT bool stand_in_subscribed() { return state().subscribed; }

EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = static_cast<uint32_t>(number("STAND_IN_VERSION", 130000));
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  *timestamp = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                                                   : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t call, const char** name) {
  *name = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cudaLaunchKernel_v7000" : "cuMemcpyAsync_v2";
  return call < 1000 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  const auto result = static_cast<CUptiResult>(number("STAND_IN_SUBSCRIBE", 0));
  if (result != CUPTI_SUCCESS) return result;
  if (state().subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  state().subscribed = true;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state());
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  state().subscribed = false;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                  CUpti_BuffersCallbackCompleteFunc completed) {
  state().requested = requested;
  state().completed = completed;
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, reinterpret_cast<uint8_t*>(*record) - kSizeBytes, sizeof bytes);
    next = reinterpret_cast<uint8_t*>(*record) + (bytes + 7) / 8 * 8;
  }
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next + kSizeBytes);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = number("STAND_IN_DROPPED", state().dropped);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t) {
  const std::lock_guard lock(state().mutex);
  complete();
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t id) {
  external_ids.push_back(id);
  return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  if (external_ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *last = external_ids.back();
  external_ids.pop_back();
  return CUPTI_SUCCESS;
}

EXPORT int InitializeInjectionNvtx2(void* table) { return table != nullptr ? 1 : 0; }
