#include "rafter/base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rafter {

namespace {

// About 50 us of spinning: longer than the gap between two ops of a decode step, short enough to spare a laptop.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

struct ThreadPool::State {
  std::atomic<uint64_t> epoch{0};  // a new value is a new section
  std::atomic<int> running{0};
  std::atomic<bool> stop{false};
  std::atomic<int> sleepers{0};
  const std::function<void(int)>* body = nullptr;
  std::mutex mutex;
  std::condition_variable wake;
  std::exception_ptr failure;
  std::vector<std::thread> workers;

  void wait_for_change(uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (epoch.load(std::memory_order_acquire) != seen) return;
      pause();
    }
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1);
    wake.wait(lock, [&] { return epoch.load(std::memory_order_acquire) != seen; });
    sleepers.fetch_sub(1);
  }

  void call(int thread) {
    try {
      (*body)(thread);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void work(int thread) {
    uint64_t seen = 0;
    for (;;) {
      wait_for_change(seen);
      ++seen;
      if (stop.load(std::memory_order_relaxed)) return;
      call(thread);
      running.fetch_sub(1, std::memory_order_release);
    }
  }

  void open_section() {
    epoch.fetch_add(1);  // sequentially consistent with the sleepers' count: no wake-up is lost
    if (sleepers.load() > 0) {
      const std::lock_guard lock(mutex);
      wake.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)), state_(std::make_unique<State>()) {
  for (int i = 1; i < threads_; ++i) state_->workers.emplace_back([this, i] { state_->work(i); });
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true);
  state_->open_section();
  for (std::thread& worker : state_->workers) worker.join();
}

void ThreadPool::run(const std::function<void(int)>& body) {
  if (threads_ == 1) return body(0);
  state_->body = &body;
  state_->failure = nullptr;
  state_->running.store(threads_ - 1, std::memory_order_relaxed);
  state_->open_section();
  state_->call(0);
  for (int spin = 0; state_->running.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  if (state_->failure) std::rethrow_exception(state_->failure);
}

void ThreadPool::for_range(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t units = (count + grain - 1) / grain;
  if (threads_ == 1 || units == 1) return body(0, count);
  run([&](int thread) {
    const int64_t begin = units * thread / threads_ * grain;
    const int64_t end = std::min(count, units * (thread + 1) / threads_ * grain);
    if (begin < end) body(begin, end);
  });
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

namespace {
std::unique_ptr<ThreadPool> g_pool;
std::mutex g_pool_mutex;
}  // namespace

ThreadPool& cpu_threads() {
  const std::lock_guard lock(g_pool_mutex);
  if (!g_pool) g_pool = std::make_unique<ThreadPool>(usable_cores());
  return *g_pool;
}

void set_cpu_threads(int threads) {
  const std::lock_guard lock(g_pool_mutex);
  g_pool = std::make_unique<ThreadPool>(threads > 0 ? threads : usable_cores());
}

}  // namespace rafter
