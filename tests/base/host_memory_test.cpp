// What is left of memory, on made-up machines: a folder that stands for the root, with the few files the kernel would show.
#include "rafter/base/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

constexpr int64_t kMi = 1 << 20;

// 8 GiB, of which 6 are available; the process holds 100 pages, 40 of them of files.
class HostMemoryTest : public testing::Test {
 protected:
  HostMemoryTest() {
    folder.write("proc/meminfo", "MemTotal:  8388608 kB\nMemFree:   1048576 kB\nMemAvailable:  6291456 kB\n");
    folder.write("proc/self/statm", "1000 100 40 10 0 500 0\n");
  }
  HostMemory read(int64_t allocated = 0) const { return host_memory(allocated, folder.path()); }
  test::TempFolder folder;
};

TEST_F(HostMemoryTest, WithoutLimitsItIsTheMachines) {
  const HostMemory memory = read();
  EXPECT_EQ(memory.total, 8192 * kMi);
  EXPECT_EQ(memory.available, 6144 * kMi);
  EXPECT_EQ(memory.limit, "");
  EXPECT_EQ(describe(memory), "6.00 GiB of 8.00 GiB");
}

TEST_F(HostMemoryTest, WhatIsAllocatedAndNotTouchedIsNotFree) {
  const int64_t touched = 60 * ::sysconf(_SC_PAGESIZE);
  EXPECT_EQ(read(1024 * kMi).available, 5120 * kMi + touched);
  EXPECT_EQ(read(touched / 2).available, 6144 * kMi);
  EXPECT_EQ(read(int64_t{1} << 50).available, 0);
}

TEST_F(HostMemoryTest, AControlGroupOfVersion2) {
  folder.write("proc/self/cgroup", "0::/user/session\n");
  folder.write("sys/fs/cgroup/user/session/memory.max", "max\n");
  folder.write("sys/fs/cgroup/user/session/memory.current", "1048576\n");
  EXPECT_EQ(read().limit, "");
  // The group above it binds: 1 GiB, of which 512 MiB are used, 128 of those by files that can go.
  folder.write("sys/fs/cgroup/user/memory.max", "1073741824\n");
  folder.write("sys/fs/cgroup/user/memory.current", "536870912\n");
  folder.write("sys/fs/cgroup/user/memory.stat", "anon 402653184\nfile 134217728\ninactive_file 134217728\n");
  EXPECT_EQ(read().available, 640 * kMi);
  EXPECT_EQ(describe(read()), "640 MiB of the 1.00 GiB of memory that its control group allows");
}

TEST_F(HostMemoryTest, AControlGroupOfVersion1WhoseOwnPathIsNotMounted) {
  folder.write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  folder.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  folder.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n");
  EXPECT_EQ(read().available, 1024 * kMi);
  folder.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(read().limit, "");
}

TEST_F(HostMemoryTest, TheLimitOfAddressSpaceIsNamed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "a limit is set already";
  const int64_t mapped = 1000 * ::sysconf(_SC_PAGESIZE);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(mapped + 5120 * kMi);  // above what this test itself has mapped
  if (::setrlimit(RLIMIT_AS, &low) != 0) GTEST_SKIP() << "limits cannot be set";
  const HostMemory memory = read();
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(memory.available, 5120 * kMi);
  EXPECT_NE(describe(memory).find("of address space that `ulimit -v` allows"), std::string::npos) << describe(memory);
}

// Of this machine: numbers that can be, whatever they are.
TEST(HostMemory, OfThisMachine) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.total, 0);
  EXPECT_GT(memory.available, 0);
  EXPECT_LE(memory.available, memory.total);
}

}  // namespace
}  // namespace rafter
