#include "rafter/base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace rafter {
namespace {

TEST(ThreadPool, RunsEveryThreadOncePerSection) {
  ThreadPool pool(4);
  std::vector<int> calls(4, 0);
  for (int section = 0; section < 5000; ++section) pool.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
  for (const int count : calls) EXPECT_EQ(count, 5000);
}

TEST(ThreadPool, RangesCoverEveryElementOnce) {
  ThreadPool pool(3);
  for (const int64_t count : {0, 1, 2, 3, 7, 100, 1001}) {
    for (const int64_t grain : {1, 4, 64}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.for_range(count, grain, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
    }
  }
}

TEST(ThreadPool, ThrowsWhatABodyThrows) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run([](int thread) {
    if (thread == 1) throw std::runtime_error("one");
  }),
               std::runtime_error);
  int after = 0;
  pool.run([&](int thread) {
    if (thread == 0) ++after;
  });
  EXPECT_EQ(after, 1);
}

}  // namespace
}  // namespace rafter
