// Runs of our own, recorded by CUPTI itself on a machine with a GPU: what stand-ins cannot show.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "rafter/base/error.h"
#include "rafter/device/device.h"
#include "rafter/engine/engine.h"
#include "rafter/measure/cuda/activity_recorder.h"
#include "rafter/measure/cuda/cupti.h"
#include "rafter/measure/recording/recording_file.h"
#include "rafter/measure/recording/recording_folder.h"
#include "tests/support/recording_events.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using cuda::ActivityRecorder;
using test::KeepingSink;

constexpr int kSteps = 20;

class RecordedRun : public testing::Test {
 protected:
  void SetUp() override {
    if (const CudaStatus status = cuda_status(); status.devices == 0) GTEST_SKIP() << status.reason;
    try {
      cuda::cupti();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  KeepingSink sink;
};

// An engine after its first step, of which later ones are the like.
struct WarmModel {
  explicit WarmModel(ExecutorKind executor)
      : checkpoint(Checkpoint::random(test::tiny_config(Architecture::qwen3), DType::bf16)),
        engine(checkpoint, {.device = {DeviceKind::cuda, 0}, .executor = executor}) {
    const int32_t token = 1;
    engine.greedy_start({&token, 1});
    step();
  }
  void step() {
    engine.greedy_step();
    engine.greedy_take();
    engine.synchronize();
  }
  Checkpoint checkpoint;
  Engine engine;
};

TEST_F(RecordedRun, GraphNodesComeBackInEveryStepUnderItsTag) {
  WarmModel model(ExecutorKind::graph);
  ActivityRecorder recorder(sink, {.overhead = true, .tags = true});
  recorder.start();
  for (uint64_t step = 1; step <= kSteps; ++step) {
    recorder.push_tag(step);
    model.step();
    recorder.pop_tag();
  }
  recorder.stop();
  std::set<uint64_t> nodes, tags;
  size_t in_graphs = 0;
  for (const RecordedEvent& event : sink.of(RecordedKind::kernel)) {
    EXPECT_TRUE(event.timed());
    EXPECT_FALSE(sink.name_of(event).empty());
    EXPECT_FALSE(sink.name_of(event).starts_with("_Z")) << sink.name_of(event);
    EXPECT_GT(event.grid[0], 0);
    EXPECT_GT(event.block[0], 0);
    if (event.graph_node == 0) continue;
    ++in_graphs;
    nodes.insert(event.graph_node);
    tags.insert(event.tag);
  }
  EXPECT_GT(nodes.size(), 5u);
  EXPECT_EQ(in_graphs, nodes.size() * kSteps);
  EXPECT_EQ(tags.size(), size_t{kSteps});
  EXPECT_EQ(tags.count(0), 0u);
  EXPECT_EQ(recorder.note().dropped, 0);
  std::printf("%zu kernels of %zu nodes, on %s\n", in_graphs, nodes.size(), recorder.note().device.c_str());
}

TEST_F(RecordedRun, EagerKernelsHaveTheCallsThatLaunchedThem) {
  WarmModel model(ExecutorKind::eager);
  ActivityRecorder recorder(sink, {.calls = true, .waits = true});
  recorder.start();
  for (int step = 0; step < kSteps; ++step) model.step();
  recorder.stop();
  std::set<uint32_t> calls;
  for (const RecordedEvent& call : sink.of(RecordedKind::api)) calls.insert(call.correlation);
  const auto kernels = sink.of(RecordedKind::kernel);
  EXPECT_GT(kernels.size(), size_t{5 * kSteps});
  for (const RecordedEvent& kernel : kernels) EXPECT_EQ(calls.count(kernel.correlation), 1u) << sink.name_of(kernel);
  EXPECT_GE(sink.of(RecordedKind::wait).size(), size_t{kSteps});
}

// The library that the driver itself loads, around this very program.
TEST_F(RecordedRun, ACommandIsTraced) {
  const test::TempFolder folder;
  const std::string model = folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::llama)).bytes());
  const std::string kept = folder.path("kept");
  const std::string line = std::string(RAFTER_BINARY) + " trace --keep " + kept + " -- " + RAFTER_BINARY + " bench " + model +
                           " --device cuda -p 16 -n 16 -r 2";
  ASSERT_EQ(std::system(line.c_str()), 0) << line;
  const std::vector<std::string> files = recordings_at(kept);
  ASSERT_EQ(files.size(), 1u);
  const RecordingNote note = read_recording(files[0], sink);
  EXPECT_TRUE(note.complete);
  EXPECT_EQ(note.fault, "");
  EXPECT_EQ(note.device, device({DeviceKind::cuda, 0}).info().name);
  EXPECT_EQ(note.device_uuid_hash, device({DeviceKind::cuda, 0}).info().uuid_hash);
  EXPECT_GT(sink.of(RecordedKind::kernel).size(), 100u);
  EXPECT_GT(sink.of(RecordedKind::api).size(), 100u);
}

}  // namespace
}  // namespace rafter
