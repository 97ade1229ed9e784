#include "rafter/measure/cuda/activity_recorder.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "rafter/base/error.h"
#include "rafter/measure/cuda/activity_decoder.h"
#include "rafter/measure/cuda/cupti.h"

namespace rafter::cuda {

namespace {

// Buffers that CUPTI fills and gives back. They outlive every recorder: CUPTI may hold some to the end of the process.
class BufferPool {
 public:
  static constexpr size_t kBytes = size_t{8} << 20;

  uint8_t* get() {
    const std::lock_guard lock(mutex_);
    if (count_ > 0) return free_[--count_];
    return static_cast<uint8_t*>(std::aligned_alloc(8, kBytes));
  }
  void put(uint8_t* buffer) {
    const std::lock_guard lock(mutex_);
    if (count_ < free_.size()) {
      free_[count_++] = buffer;
    } else {
      std::free(buffer);
    }
  }

 private:
  std::mutex mutex_;
  std::array<uint8_t*, 8> free_{};
  size_t count_ = 0;
};

BufferPool& pool() {
  static auto* const buffers = new BufferPool;  // never destroyed
  return *buffers;
}

int64_t host_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<CUpti_ActivityKind> kinds_of(const RecorderOptions& options) {
  std::vector<CUpti_ActivityKind> kinds = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
  if (options.tags) kinds.push_back(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  if (options.calls || options.tags) {
    kinds.push_back(CUPTI_ACTIVITY_KIND_RUNTIME);
    kinds.push_back(CUPTI_ACTIVITY_KIND_DRIVER);
  }
  if (options.waits) kinds.push_back(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (options.ranges) kinds.push_back(CUPTI_ACTIVITY_KIND_MARKER);
  if (options.overhead) kinds.push_back(CUPTI_ACTIVITY_KIND_OVERHEAD);
  return kinds;
}

// Subscribed to nothing: subscribing claims CUPTI, and tells whether another profiler has.
void CUPTIAPI ignore_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

struct ActivityRecorder::State {
  State(RecordingSink& sink, const RecorderOptions& options) : sink(sink), options(options) {}

  int64_t now() const {
    uint64_t time = 0;
    return cupti->get_timestamp(&time) == CUPTI_SUCCESS ? static_cast<int64_t>(time) : 0;
  }
  void subscribe();
  void unsubscribe();
  void decode(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes);

  static void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t filled);

  RecordingSink& sink;
  const RecorderOptions options;
  const Cupti* cupti = nullptr;  // null until started for the first time
  std::unique_ptr<ActivityDecoder> decoder;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::vector<CUpti_ActivityKind> enabled;
  RecordingNote note;

  // The running one, since callbacks carry no pointer. The mutex is held while it is changed, or decodes.
  static inline std::mutex mutex;
  static inline State* running = nullptr;
};

void ActivityRecorder::State::subscribe() {
  cupti->check(cupti->subscribe(&subscriber, ignore_callback, nullptr), "recording with CUPTI");
  try {
    cupti->set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);  // where it cannot, threads have other numbers
    cupti->check(cupti->register_callbacks(buffer_requested, buffer_completed), "giving CUPTI buffers");
    for (const CUpti_ActivityKind kind : kinds_of(options)) {
      cupti->check(cupti->enable(kind), "recording with CUPTI");
      enabled.push_back(kind);
    }
  } catch (const Error&) {
    unsubscribe();
    throw;
  }
}

void ActivityRecorder::State::unsubscribe() {
  for (const CUpti_ActivityKind kind : enabled) cupti->disable(kind);
  enabled.clear();
  cupti->unsubscribe(subscriber);
}

void ActivityRecorder::State::buffer_requested(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = pool().get();
  *bytes = *buffer != nullptr ? BufferPool::kBytes : 0;  // without one, CUPTI drops records and counts them
  *most_records = 0;                                     // as many as fit
}

void ActivityRecorder::State::buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t filled) {
  {
    const std::lock_guard lock(mutex);
    if (running != nullptr) running->decode(context, stream, buffer, filled);
  }
  if (buffer != nullptr) pool().put(buffer);
}

void ActivityRecorder::State::decode(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes) {
  const int64_t began = host_ns();
  CUpti_Activity* record = nullptr;
  while (bytes > 0 && cupti->get_next_record(buffer, bytes, &record) == CUPTI_SUCCESS) {
    try {
      decoder->take(*record);
    } catch (...) {  // no memory: whose thread this is, expects no exception
      ++note.dropped;
    }
  }
  size_t dropped = 0;
  if (cupti->get_dropped(context, stream, &dropped) == CUPTI_SUCCESS) note.dropped += static_cast<int64_t>(dropped);
  note.recorder_ns += host_ns() - began;
}

ActivityRecorder::ActivityRecorder(RecordingSink& sink, const RecorderOptions& options)
    : state_(std::make_unique<State>(sink, options)) {
  state_->note.process = ::getpid();
  state_->note.parent = ::getppid();
}

ActivityRecorder::~ActivityRecorder() { stop(); }

void ActivityRecorder::start() {
  const int64_t began = host_ns();
  State& state = *state_;
  if (state.cupti == nullptr) {
    state.cupti = &cuda::cupti();
    state.decoder = std::make_unique<ActivityDecoder>(*state.cupti, state.sink, state.options);
  }
  {
    const std::lock_guard lock(State::mutex);
    if (State::running != nullptr) {
      throw runtime_failure({"this process", "recorded already", "one recorder at a time", "stop the other one first"});
    }
    State::running = &state;
  }
  try {
    state.subscribe();
  } catch (const Error&) {
    const std::lock_guard lock(State::mutex);
    State::running = nullptr;
    throw;
  }
  const int64_t taken = host_ns() - began;
  if (state.note.began_ns == 0) state.note.began_ns = state.now() - taken;
  state.note.recorder_ns += taken;
}

void ActivityRecorder::stop() {
  State& state = *state_;
  {
    const std::lock_guard lock(State::mutex);
    if (State::running != &state) return;
  }
  const int64_t ended = state.now();
  state.cupti->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);  // calls back: no lock is held
  state.unsubscribe();
  const std::lock_guard lock(State::mutex);
  state.decoder->finish(ended);
  state.note.ended_ns = ended;
  State::running = nullptr;
}

void ActivityRecorder::flush() {
  const Cupti* cupti = state_->cupti;
  if (cupti != nullptr) cupti->flush_all(0);
}

void ActivityRecorder::push_tag(uint64_t tag) {
  state_->cupti->check(state_->cupti->push_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, tag), "tagging launches");
}

void ActivityRecorder::pop_tag() {
  uint64_t ignored = 0;
  state_->cupti->check(state_->cupti->pop_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &ignored), "tagging launches");
}

RecordingNote ActivityRecorder::note() const {
  const std::lock_guard lock(State::mutex);
  RecordingNote note = state_->note;
  if (state_->decoder) {
    note.device = state_->decoder->device_name();
    note.device_uuid_hash = state_->decoder->device_uuid_hash();
  }
  if (State::running == state_.get()) note.ended_ns = state_->now();
  note.complete = State::running != state_.get() && note.ended_ns > 0;
  return note;
}

}  // namespace rafter::cuda
