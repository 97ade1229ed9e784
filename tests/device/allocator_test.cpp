// The allocator over a device that counts, refuses and never touches memory: its book-keeping is what is tested.
#include "rafter/device/allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "rafter/base/error.h"
#include "rafter/base/random.h"
#include "rafter/device/device.h"

namespace rafter {
namespace {

class CountingDevice : public Device {
 public:
  explicit CountingDevice(int64_t limit) : limit_(limit) {}
  DeviceId id() const override { return {}; }
  DeviceInfo info() const override {
    DeviceInfo info;
    info.memory_bytes = limit_;
    info.free_bytes = limit_ - held;
    return info;
  }
  std::unique_ptr<Stream> make_stream() override { return nullptr; }
  bool has_graphs() const override { return false; }
  void* allocate_raw(int64_t bytes) override {
    if (held + bytes > limit_) return nullptr;
    void* pointer = std::aligned_alloc(256, static_cast<size_t>(bytes));
    sizes_[pointer] = bytes;
    held += bytes;
    return pointer;
  }
  void free_raw(void* pointer) override {
    held -= sizes_.at(pointer);
    sizes_.erase(pointer);
    std::free(pointer);
  }
  void* allocate_pinned(int64_t) override { return nullptr; }
  void free_pinned(void*) override {}
  int64_t held = 0;

 private:
  int64_t limit_;
  std::map<void*, int64_t> sizes_;
};

TEST(CachingAllocator, ReusesWhatIsFreed) {
  CountingDevice device(1 << 30);
  CachingAllocator allocator(device);
  void* first = allocator.allocate(10 << 20);
  allocator.free(first);
  EXPECT_EQ(allocator.allocate(10 << 20), first);
  EXPECT_EQ(allocator.stats().driver_calls, 1);
  EXPECT_EQ(allocator.allocate(0), nullptr);
  EXPECT_THROW(allocator.allocate(-1), Error);
}

TEST(CachingAllocator, SmallBlocksShareASegmentAndMerge) {
  CountingDevice device(1 << 30);
  CachingAllocator allocator(device);
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(allocator.allocate(1000));
  EXPECT_EQ(allocator.stats().driver_calls, 1);
  EXPECT_EQ(allocator.stats().allocated, 64 * 1024);
  EXPECT_EQ(allocator.stats().live_blocks, 64);
  for (size_t i = 0; i < blocks.size(); i += 2) allocator.free(blocks[i]);
  EXPECT_GT(allocator.stats().fragmentation(), 0);
  for (size_t i = 1; i < blocks.size(); i += 2) allocator.free(blocks[i]);
  EXPECT_EQ(allocator.stats().largest_free, 2 << 20);
  EXPECT_EQ(allocator.stats().fragmentation(), 0);
  allocator.trim();
  EXPECT_EQ(device.held, 0);
  EXPECT_EQ(allocator.stats().peak_allocated, 64 * 1024);
}

TEST(CachingAllocator, GivesBackCachedMemoryBeforeItFails) {
  CountingDevice device(100 << 20);
  CachingAllocator allocator(device);
  allocator.free(allocator.allocate(60 << 20));
  EXPECT_NE(allocator.allocate(90 << 20), nullptr);
  try {
    allocator.allocate(90 << 20);
    FAIL() << "no room, and no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 1);
    EXPECT_NE(std::string(error.what()).find("90.0 MiB"), std::string::npos) << error.what();
  }
}

TEST(CachingAllocator, RefusesAForeignPointer) {
  CountingDevice device(1 << 20);
  CachingAllocator allocator(device);
  int local = 0;
  EXPECT_THROW(allocator.free(&local), Error);
}

// Random work from several threads: blocks never overlap (each is filled and checked), all of it comes back.
TEST(CachingAllocator, BlocksNeverOverlap) {
  CountingDevice device(int64_t{1} << 31);
  CachingAllocator allocator(device);
  const auto work = [&](int thread) {
    Random random(static_cast<uint64_t>(thread));
    std::vector<std::pair<unsigned char*, size_t>> mine;
    const auto mark = static_cast<unsigned char>(thread + 1);
    for (int i = 0; i < 2000; ++i) {
      if (mine.size() < 20 && random.unit() < 0.6f) {
        const size_t bytes = 1 + random.below(random.unit() < 0.9f ? 5000 : 3000000);
        auto* block = static_cast<unsigned char*>(allocator.allocate(static_cast<int64_t>(bytes)));
        block[0] = block[bytes / 2] = block[bytes - 1] = mark;
        mine.emplace_back(block, bytes);
      } else if (!mine.empty()) {
        const size_t which = random.below(static_cast<uint32_t>(mine.size()));
        const auto [block, bytes] = mine[which];
        ASSERT_TRUE(block[0] == mark && block[bytes / 2] == mark && block[bytes - 1] == mark);
        allocator.free(block);
        mine.erase(mine.begin() + static_cast<ptrdiff_t>(which));
      }
    }
    for (const auto& [block, bytes] : mine) allocator.free(block);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.stats().allocated, 0);
  allocator.trim();
  EXPECT_EQ(device.held, 0);
}

}  // namespace
}  // namespace rafter
