// The CPU's part of the chapter on threads: a triad by how many threads share it, by its size, and by the size of their shares.
//
// A pool of its own for each count of threads; the work and the loops are those of the DRAM probe, so that the numbers compare.
#include <algorithm>

#include "rafter/base/threads.h"
#include "rafter/machine/cpu/block.h"
#include "rafter/machine/cpu/probe_list.h"
#include "rafter/machine/cpu/simd_loops.h"
#include "rafter/machine/cpu/timer.h"

namespace rafter::cpu {

namespace {

constexpr int64_t kMi = int64_t{1} << 20, kStep = 4096;
constexpr float kScale = 0.5f;

class Sweeps {
 public:
  Sweeps(Probing& probing, const SimdLoops& loops)
      : probing_(probing), loops_(loops), each_(probing.quick() ? 16 * kMi : 64 * kMi), block_(3 * each_) {}

  void counts() {
    for (int threads = 1; threads <= usable_cores(); threads = next(threads)) {
      ThreadPool pool(threads);
      add("threads.count", "threads", threads, each_, [&] { pool.for_range(each_, kStep, triad(each_)); });
    }
  }

  void sizes() {
    for (int64_t each = 16 * 1024; each <= each_; each *= 4) {
      add("threads.triad", "bytes", static_cast<double>(3 * each), each,
          [&] { cpu_threads().for_range(each, kStep, triad(each)); });
    }
  }

  // One parallel section for every `share` bytes of a stream: entering and leaving it is paid each time.
  void shares() {
    for (int64_t share = each_; share >= 64 * 1024; share /= 4) {
      add("threads.section", "bytes", static_cast<double>(3 * share), each_, [&] {
        for (int64_t begin = 0; begin < each_; begin += share) {
          cpu_threads().for_range(share, kStep, [&](int64_t b, int64_t e) { run(each_, begin + b, begin + e); });
        }
      });
    }
  }

 private:
  static int next(int threads) { return threads < usable_cores() ? std::min(2 * threads, usable_cores()) : threads + 1; }

  void run(int64_t apart, int64_t begin, int64_t end) const {
    char* const p = block_.data();
    loops_.triad(p + begin, p + apart + begin, kScale, p + 2 * apart + begin, end - begin);
  }
  std::function<void(int64_t, int64_t)> triad(int64_t each) const {
    return [this, each](int64_t begin, int64_t end) { run(each, begin, end); };
  }

  template <typename Work>
  void add(const char* name, const char* axis, double at, int64_t each, const Work& work) {
    const Estimate value = rate(static_cast<double>(3 * each), work, rule_for(probing_, 0.3));
    probing_.add({name, {{axis, at}}, "warm", "B/s", value, {}});
  }

  Probing& probing_;
  const SimdLoops& loops_;
  const int64_t each_;  // of a stream
  const Block block_;
};

}  // namespace

void sweep_threads(Probing& probing) {
  const SimdLoops* loops = simd_loops();
  if (loops == nullptr) return;
  Sweeps sweeps(probing, *loops);
  sweeps.counts();
  probing.progress(0.4, "sizes");
  sweeps.sizes();
  probing.progress(0.8, "sections");
  sweeps.shares();
}

}  // namespace rafter::cpu
