// The recorder within a process, with a stand-in for CUPTI: records as they come, in any order.
#include "rafter/measure/cuda/activity_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "rafter/base/error.h"
#include "rafter/measure/cuda/cupti.h"
#include "tests/stand_in/stand_in.h"
#include "tests/support/recording_events.h"

namespace rafter {
namespace {

using namespace stand_in;
using cuda::ActivityRecorder;
using cuda::RecorderOptions;
using test::KeepingSink;

constexpr const char* kStandIn = RAFTER_STAND_INS "/libcupti.so.13";
constexpr int64_t kStart = kEpoch;

class Recorder : public testing::Test {
 protected:
  Recorder() {
    ::setenv("RAFTER_CUPTI", kStandIn, 1);
    function = reinterpret_cast<Give>(::dlsym(cuda::cupti().library, "stand_in_give"));
  }
  ~Recorder() override {
    for (const char* variable : {"STAND_IN_SUBSCRIBE", "STAND_IN_DROPPED"}) ::unsetenv(variable);
  }
  template <typename Record>
  void give(const Record& record) {
    stand_in::give(function, record);
  }
  bool subscribed() const { return reinterpret_cast<bool (*)()>(::dlsym(cuda::cupti().library, "stand_in_subscribed"))(); }

  Give function = nullptr;
  KeepingSink sink;
};

TEST_F(Recorder, FindsCuptiWhereItIsToldTo) {
  EXPECT_EQ(cuda::cupti().path, kStandIn);
  EXPECT_EQ(cuda::cupti_places(), std::vector<std::string>{kStandIn});
  ::unsetenv("RAFTER_CUPTI");
  const std::vector<std::string> places = cuda::cupti_places();
  EXPECT_EQ(places.at(0), "libcupti.so.13");
  EXPECT_EQ(places.at(2), "libcupti.so");
}

TEST_F(Recorder, KernelsCopiesAndFills) {
  ActivityRecorder recorder(sink);
  recorder.start();
  give(kernel("_Z3addIiEvPT_i", 100, 250, 8, 0x1234));
  give(copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 4096, 300, 400, 9));
  give(fill(64, 10, 20, 7));
  give(call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, 2, 8));  // not asked for
  recorder.stop();
  ASSERT_EQ(sink.events.size(), 3u);
  const RecordedEvent &k = sink.events[0], &c = sink.events[1], &f = sink.events[2];
  EXPECT_EQ(k.kind, RecordedKind::kernel);
  EXPECT_EQ(sink.name_of(k), "void add<int>(int*, int)");
  EXPECT_EQ(k.start_ns, kStart + 100);
  EXPECT_EQ(k.end_ns, kStart + 250);
  EXPECT_EQ(k.process, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(k.device, 0);
  EXPECT_EQ(k.stream, 7u);
  EXPECT_EQ(k.context, 1u);
  EXPECT_EQ(k.correlation, 8u);
  EXPECT_EQ(k.graph_node, 0x1234u);
  EXPECT_EQ(k.graph, 5u);
  EXPECT_EQ(k.grid, (std::array<int32_t, 3>{132, 2, 1}));
  EXPECT_EQ(k.block, (std::array<int32_t, 3>{256, 1, 1}));
  EXPECT_EQ(k.registers, 168);
  EXPECT_EQ(k.shared_bytes, 66560);
  EXPECT_EQ(k.local_bytes, 16);
  EXPECT_EQ(c.kind, RecordedKind::copy);
  EXPECT_EQ(sink.name_of(c), "copy device to host");
  EXPECT_EQ(c.bytes, 4096);
  EXPECT_EQ(c.copy_kind, 2);
  EXPECT_EQ(f.kind, RecordedKind::fill);
  EXPECT_EQ(f.bytes, 64);
}

TEST_F(Recorder, ANameIsToldOnceAndNamesThatAreNotMangledStay) {
  ActivityRecorder recorder(sink);
  recorder.start();
  for (uint32_t i = 0; i < 3; ++i) give(kernel(i == 2 ? "plain_c" : "_Z4stepPf", 10, 20, i));
  recorder.stop();
  EXPECT_EQ(sink.names, (std::vector<std::string>{"step(float*)", "plain_c"}));
}

TEST_F(Recorder, UntimedKernelsAreTold) {
  ActivityRecorder recorder(sink);
  recorder.start();
  give(kernel("k", 0, 0, 1));
  recorder.stop();
  ASSERT_EQ(sink.events.size(), 1u);
  EXPECT_FALSE(sink.events[0].timed());
}

TEST_F(Recorder, CallsWaitsAndOverhead) {
  ActivityRecorder recorder(sink, {.calls = true, .waits = true, .overhead = true});
  recorder.start();
  give(call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, 5, 8));
  give(call(CUPTI_ACTIVITY_KIND_DRIVER, 17, 2, 4, 8));
  give(call(CUPTI_ACTIVITY_KIND_DRIVER, 5000, 2, 4, 9));
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  wait.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  give(wait);
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 77;
  give(overhead);
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
  give(overhead);
  recorder.stop();
  ASSERT_EQ(sink.events.size(), 6u);
  EXPECT_EQ(sink.name_of(sink.events[0]), "cudaLaunchKernel");
  EXPECT_EQ(sink.events[0].thread, 4325u);
  EXPECT_EQ(sink.events[0].correlation, 8u);
  EXPECT_EQ(sink.name_of(sink.events[1]), "cuMemcpyAsync_v2");
  EXPECT_EQ(sink.name_of(sink.events[2]), "call 5000");
  EXPECT_EQ(sink.events[3].kind, RecordedKind::wait);
  EXPECT_EQ(sink.name_of(sink.events[3]), "wait for the device");
  EXPECT_EQ(sink.events[3].stream, 0u);
  EXPECT_EQ(sink.events[4].kind, RecordedKind::overhead);
  EXPECT_EQ(sink.events[4].thread, 77u);
  EXPECT_EQ(sink.events[5].kind, RecordedKind::api);  // the driver's own
}

TEST_F(Recorder, RangesAreJoinedFromEitherSide) {
  ActivityRecorder recorder(sink, {.ranges = true});
  recorder.start();
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 1, "outer", 10));
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 2, nullptr, 30));
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 2, "inner", 20));
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 3, "now", 25));
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 1, nullptr, 40));
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 4, "open", 50));
  give(marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 5, nullptr, 60));  // began before
  recorder.stop();
  ASSERT_EQ(sink.events.size(), 4u);
  EXPECT_EQ(sink.name_of(sink.events[0]), "inner");
  EXPECT_EQ(sink.events[0].start_ns, kStart + 20);
  EXPECT_EQ(sink.events[0].end_ns, kStart + 30);
  EXPECT_EQ(sink.name_of(sink.events[1]), "now");
  EXPECT_EQ(sink.events[1].start_ns, sink.events[1].end_ns);
  EXPECT_EQ(sink.name_of(sink.events[2]), "outer");
  EXPECT_EQ(sink.events[2].thread, 4325u);
  EXPECT_EQ(sink.name_of(sink.events[3]), "open");
  EXPECT_EQ(sink.events[3].end_ns, recorder.note().ended_ns);
}

TEST_F(Recorder, TheInnermostTagReachesAllThatOneCallLaunched) {
  ActivityRecorder recorder(sink, {.tags = true});
  recorder.start();
  give(kernel("early", 10, 20, 3, 1));  // before its call's record
  recorder.push_tag(41);
  recorder.push_tag(42);
  give(call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, 2, 3));
  recorder.pop_tag();
  give(call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 3, 4, 4));
  recorder.pop_tag();
  give(call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 5, 6, 5));
  give(kernel("early", 30, 40, 3, 2));
  give(kernel("outer", 50, 60, 4));
  give(copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1, 70, 80, 5));
  recorder.flush();
  EXPECT_TRUE(sink.events.empty());  // held back
  recorder.stop();
  ASSERT_EQ(sink.events.size(), 4u);  // no calls: they were not asked for
  EXPECT_EQ(sink.events[0].tag, 42u);
  EXPECT_EQ(sink.events[1].tag, 42u);
  EXPECT_EQ(sink.events[1].graph_node, 2u);
  EXPECT_EQ(sink.events[2].tag, 41u);
  EXPECT_EQ(sink.events[3].tag, 0u);
}

TEST_F(Recorder, NamesGoOnCountingWhenItIsStartedAgain) {
  ActivityRecorder recorder(sink);
  for (const char* name : {"a", "b"}) {
    recorder.start();
    EXPECT_TRUE(subscribed());
    give(kernel("a", 1, 2, 1));
    give(kernel(name, 3, 4, 2));
    recorder.stop();
    EXPECT_FALSE(subscribed());
  }
  give(kernel("late", 5, 6, 3));
  EXPECT_EQ(sink.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(sink.events.size(), 4u);
  EXPECT_EQ(sink.name_of(sink.events[3]), "b");
}

TEST_F(Recorder, ManyBuffersOfRecords) {
  ActivityRecorder recorder(sink);
  recorder.start();
  for (uint32_t i = 0; i < 150'000; ++i) give(kernel("_Z4stepPf", 10 * i + 1, 10 * i + 5, i));
  recorder.stop();
  ASSERT_EQ(sink.events.size(), 150'000u);
  for (uint32_t i = 0; i < 150'000; ++i) EXPECT_EQ(sink.events[i].correlation, i);
}

TEST_F(Recorder, TheNoteSaysWhatIsKnown) {
  ::setenv("STAND_IN_DROPPED", "3", 1);
  ActivityRecorder recorder(sink);
  EXPECT_FALSE(recorder.note().complete);
  recorder.start();
  give(device(1, "second"));
  give(device(0, "NVIDIA Stand-in"));
  give(kernel("a", 1, 2, 1));
  EXPECT_FALSE(recorder.note().complete);
  recorder.stop();
  const RecordingNote note = recorder.note();
  EXPECT_TRUE(note.complete);
  EXPECT_EQ(note.device, "NVIDIA Stand-in");
  EXPECT_EQ(note.device_uuid_hash, "088b84ce5271b343");
  EXPECT_EQ(note.process, ::getpid());
  EXPECT_EQ(note.parent, ::getppid());
  EXPECT_EQ(note.dropped, 3);
  EXPECT_GT(note.began_ns, kStart);
  EXPECT_GE(note.ended_ns, note.began_ns);
  EXPECT_GT(note.recorder_ns, 0);
}

std::string failure_of(ActivityRecorder& recorder) {
  try {
    recorder.start();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::runtime);
    return error.what();
  }
  return "";
}

TEST_F(Recorder, AnotherProfilerIsOneError) {
  ::setenv("STAND_IN_SUBSCRIBE", "39", 1);
  ActivityRecorder recorder(sink);
  EXPECT_EQ(failure_of(recorder),
            "recording with CUPTI is not possible: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39). Another profiler holds "
            "CUPTI: run without nsys, ncu, cuda-gdb, compute-sanitizer or torch.profiler.");
  ::unsetenv("STAND_IN_SUBSCRIBE");
  recorder.start();  // nothing stays behind
}

TEST_F(Recorder, OneAtATime) {
  ActivityRecorder first(sink), second(sink);
  first.start();
  EXPECT_NE(failure_of(second).find("one recorder at a time"), std::string::npos);
  EXPECT_NE(failure_of(first).find("one recorder at a time"), std::string::npos);
  second.stop();
  EXPECT_TRUE(subscribed());
  first.stop();
  second.start();
}

}  // namespace
}  // namespace rafter
