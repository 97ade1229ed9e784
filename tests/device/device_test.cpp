#include "rafter/device/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rafter/base/error.h"
#include "rafter/device/allocator.h"
#include "rafter/device/buffer.h"

namespace rafter {
namespace {

TEST(DeviceId, ParsesAndPrints) {
  EXPECT_EQ(parse_device("cpu"), DeviceId{});
  EXPECT_EQ(parse_device("cuda"), (DeviceId{DeviceKind::cuda, 0}));
  EXPECT_EQ(to_string(parse_device("cuda:3")), "cuda:3");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "CPU", "cuda:99999999999"})
    EXPECT_THROW(parse_device(bad), Error) << bad;
}

TEST(Device, AbsentOnesAreNamed) {
  if (cuda_status().devices == 0) {
    EXPECT_FALSE(cuda_status().reason.empty());
    EXPECT_THROW(device({DeviceKind::cuda, 0}), Error);
    EXPECT_EQ(default_device(), DeviceId{});
  }
  EXPECT_THROW(device({DeviceKind::cuda, 1000}), Error);
}

// The same promises on every device that is there.
class EveryDevice : public ::testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (GetParam() == DeviceKind::cuda && cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    device_ = &device({GetParam(), 0});
  }
  Device* device_ = nullptr;
};

TEST_P(EveryDevice, DescribesItself) {
  const DeviceInfo info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.uuid_hash.size(), 16u);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory_bytes, 0);
}

TEST_P(EveryDevice, CopiesInOrder) {
  auto stream = device_->make_stream();
  Buffer a(*device_, 1000), b(*device_, 1000);
  std::vector<unsigned char> host(1000), back(1000);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 7);
  stream->copy_in(a.data(), host.data(), 1000);
  stream->copy(b.data(), a.data(), 1000);
  stream->fill(b.data(), 0x5a, 10);
  stream->copy_out(back.data(), b.data(), 1000);
  stream->synchronize();
  EXPECT_EQ(back[9], 0x5a);
  EXPECT_EQ(std::memcmp(back.data() + 10, host.data() + 10, 990), 0);
}

TEST_P(EveryDevice, EventsMeasureTime) {
  auto stream = device_->make_stream();
  Buffer buffer(*device_, 64 << 20);
  auto start = stream->make_event(), end = stream->make_event();
  stream->record(*start);
  stream->fill(buffer.data(), 1, buffer.bytes());
  stream->record(*end);
  end->wait();
  EXPECT_GT(end->seconds_since(*start), 0);
  EXPECT_LT(end->seconds_since(*start), 5);
}

TEST_P(EveryDevice, GraphsReplayOrAreRefused) {
  auto stream = device_->make_stream();
  if (!device_->has_graphs()) {
    EXPECT_THROW(stream->begin_capture(), Error);
    return;
  }
  Buffer a(*device_, 4), b(*device_, 4);
  int value = 41;
  stream->copy_in(a.data(), &value, 4);
  stream->begin_capture();
  stream->copy(b.data(), a.data(), 4);
  auto graph = stream->end_capture();
  EXPECT_EQ(graph->nodes(), 1);
  value = 42;
  stream->copy_in(a.data(), &value, 4);
  graph->launch(*stream);
  int result = 0;
  stream->copy_out(&result, b.data(), 4);
  stream->synchronize();
  EXPECT_EQ(result, 42);
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryDevice, ::testing::Values(DeviceKind::cpu, DeviceKind::cuda),
                         [](const auto& info) { return info.param == DeviceKind::cpu ? "cpu" : "cuda"; });

// The system would grant them, and end the process that writes to them. The second fits alone, not beside the first, of
// which nothing has been touched.
TEST(CpuDevice, RefusesMemoryThatIsNotThere) {
  Device& cpu = device({});
  const int64_t free = cpu.info().free_bytes, bytes = free / 5 * 3;
  EXPECT_EQ(cpu.allocate_raw(free / 4 * 5), nullptr);
  void* first = cpu.allocate_raw(bytes);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(cpu.allocate_raw(bytes), nullptr);
  try {
    cpu.allocator().allocate(bytes);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("more than is free"), std::string::npos) << error.what();
  }
  cpu.free_raw(first);
  void* again = cpu.allocate_raw(bytes);
  EXPECT_NE(again, nullptr);
  cpu.free_raw(again);
}

}  // namespace
}  // namespace rafter
