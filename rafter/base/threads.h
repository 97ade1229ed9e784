// A pool of threads for CPU kernels: short parallel sections with little to pay for entering and leaving them.
//
// Workers spin for a while before they sleep, since a decode step enters some two hundred sections a few
// microseconds apart. The caller is thread 0 and works too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace rafter {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return threads_; }

  // Calls body(thread) once on every thread, thread in [0, size()), and returns when all have returned.
  // The first exception that a body throws is thrown again here. Not reentrant.
  void run(const std::function<void(int)>& body);

  // Splits [0, count) into one contiguous range per thread, in units of `grain`, and calls body(begin, end).
  // Which elements share a range depends on the thread count, so a body must not let results depend on it.
  void for_range(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

 private:
  struct State;
  int threads_;
  std::unique_ptr<State> state_;
};

// The pool that CPU kernels use. Its size is set once, before the first use; 0 means one thread per usable core.
ThreadPool& cpu_threads();
void set_cpu_threads(int threads);

// Cores this process may run on (its affinity mask, not the machine's total).
int usable_cores();

}  // namespace rafter
