// How long one load takes, by the size of the set it loads from: L1, L2, DRAM, and what the TLBs reach.
//
// The idea: one thread chases pointers through a random cycle (chase.cuh), so that nothing overlaps; the time of a step is the
// latency, measured on the SM by both of its clocks.
// - latency.chase: dense sets of every size, warm: the set was read just before, and the walker's own L1 holds what it can.
// - latency.pages: always 16384 lines (2 MiB, in L2), spread evenly over ever more memory: what rises is address translation.
// - latency.dram: lines that L2 does not hold, on pages that were just read; latency.dram_tlb_cold: one line of each 2 MiB
// page.
// - latency.l1, latency.read_only, latency.l2: a small set by each path.
// Expect on an H100 or H200, in cycles: L1 34 to 38, L2 about 260 on average (219 to 500 by SM and line, see probe_l2_map),
// DRAM 600 to 830, depending on the method by a third.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "rafter/base/units.h"
#include "rafter/machine/capacities.h"
#include "rafter/machine/cuda/chase.cuh"
#include "rafter/machine/cuda/probe_list.h"

namespace rafter::cuda {

namespace {

constexpr int64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024;
constexpr int64_t kPage = 2 * kMi;     // of cudaMalloc
constexpr int64_t kPageLines = 16384;  // of latency.pages

// What all of them measure with.
struct Bench {
  explicit Bench(Probing& probing) : probing(probing), timer(probing.device()), chaser(probing.device()) {}
  Stream& stream() { return timer.stream(); }
  Estimate estimate(const StopRule& rule, const std::function<Sample()>& take) {
    take();  // loads the code
    return measure(take, rule, timer.default_clock_hz());
  }
  Probing& probing;
  GpuTimer timer;
  Chaser chaser;
};

// A point of a curve of hundreds: a few samples of milliseconds each.
StopRule point_rule(const Probing& probing) {
  StopRule rule = probing.rule(0.01);
  rule.least_samples = probing.quick() ? 3 : 5;
  rule.most_seconds = probing.quick() ? 0.012 : 0.04;
  return rule;
}

// Memory for longer than a curve and too large to be kept by an allocator.
class RawMemory {
 public:
  RawMemory(Device& device, int64_t bytes, int64_t least) : device_(device), bytes_(bytes) {
    while (bytes_ >= least && (data_ = device.allocate_raw(bytes_)) == nullptr) bytes_ /= 2;
  }
  ~RawMemory() {
    if (data_ != nullptr) device_.free_raw(data_);
  }
  RawMemory(const RawMemory&) = delete;
  RawMemory& operator=(const RawMemory&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  int64_t bytes() const { return data_ == nullptr ? 0 : bytes_; }

 private:
  Device& device_;
  void* data_ = nullptr;
  int64_t bytes_;
};

std::vector<int64_t> sizes(int64_t from, int64_t to, double factor, int64_t unit) {
  std::vector<int64_t> list;
  for (double x = static_cast<double>(from); x <= 1.0001 * static_cast<double>(to); x *= factor) {
    const int64_t size = std::min<int64_t>(to, std::llround(x / static_cast<double>(unit)) * unit);
    if (list.empty() || size > list.back()) list.push_back(size);
  }
  return list;
}

void add_chase_curve(Bench& bench, const RawMemory& memory) {
  const StopRule rule = point_rule(bench.probing);
  const std::vector<int64_t> list = sizes(4 * kKi, memory.bytes(), bench.probing.quick() ? 1.25 : 1.04, kLine);
  for (size_t i = 0; i < list.size(); ++i) {
    const Ring ring{memory.data(), list[i] / kLine};
    link(bench.stream(), ring);
    // A lap of what L1 may hold, and enough to fill L1 and the SM's TLB with what the walk leaves there.
    const Walk walk{.warm_steps = static_cast<int>(std::clamp<int64_t>(ring.count, 1024, 4096)), .steps = 8192};
    const Estimate value = bench.estimate(rule, [&] {
      touch(bench.stream(), ring);
      return bench.chaser.step(bench.stream(), ring, walk);
    });
    bench.probing.add({"latency.chase", {{"bytes", static_cast<double>(ring.span())}}, "warm", "s", value, {}});
    if (i % 8 == 0) {
      bench.probing.progress(0.7 * static_cast<double>(i) / static_cast<double>(list.size()),
                             "chase of " + format_capacity(ring.span()));
    }
  }
}

void add_page_curve(Bench& bench, const RawMemory& memory) {
  const StopRule rule = point_rule(bench.probing);
  const Walk walk{.path = Path::l2, .warm_steps = 4096, .steps = 8192};
  for (const int64_t span : sizes(kPageLines * kLine, memory.bytes(), bench.probing.quick() ? 2 : 1.2, kPageLines * kLine)) {
    const Ring ring{memory.data(), kPageLines, span / (kPageLines * kLine) * kLine};
    link(bench.stream(), ring);
    const Estimate value = bench.estimate(rule, [&] {
      touch(bench.stream(), ring);
      return bench.chaser.step(bench.stream(), ring, walk);
    });
    bench.probing.add({"latency.pages", {{"bytes", static_cast<double>(span)}}, "warm", "s", value, {}});
  }
}

void add_small_sets(Bench& bench, const RawMemory& memory) {
  struct Small {
    const char* name;
    int64_t bytes;
    Walk walk;
  };
  constexpr Small kSmall[] = {
      {"latency.l1", 16 * kKi, {.path = Path::l1, .warm_steps = 1024, .steps = 32768}},
      {"latency.read_only", 16 * kKi, {.path = Path::read_only, .warm_steps = 1024, .steps = 32768}},
      {"latency.l2", 4 * kMi, {.path = Path::l2, .warm_steps = 1024, .steps = 8192}},
  };
  for (const Small& small : kSmall) {
    const Ring ring{memory.data(), std::min(small.bytes, memory.bytes()) / kLine};
    link(bench.stream(), ring);
    const Estimate value = bench.estimate(bench.probing.rule(0.3), [&] {
      touch(bench.stream(), ring);
      return bench.chaser.step(bench.stream(), ring, small.walk);
    });
    const bool is_l2 = small.walk.path == Path::l2;
    bench.probing.add({small.name,
                       {},
                       "warm",
                       "s",
                       value,
                       is_l2 ? "the mean over 4 MiB, near and far from the SM that asks; see latency.l2_near" : ""});
  }
}

// Each sample walks lines that were last read before L2 was overwritten.
void add_dram(Bench& bench, const RawMemory& memory) {
  const Ring ring{memory.data(), memory.bytes() / kLine};
  link(bench.stream(), ring);
  const Walk walk{.path = Path::l2, .steps = 4096, .page_bytes = kPage};
  const Estimate value = bench.estimate(bench.probing.rule(0.3), [&] {
    bench.timer.flush_l2(bench.stream());
    return bench.chaser.step(bench.stream(), ring, walk);
  });
  bench.probing.add({"latency.dram",
                     {},
                     "cold",
                     "s",
                     value,
                     "random lines of " + format_capacity(ring.span()) + ", none in L2, its pages read just before"});
}

void add_dram_tlb_cold(Bench& bench, const RawMemory& memory) {
  const Ring ring{memory.data(), memory.bytes() / kPage, kPage};
  if (ring.count < 512) return;
  link(bench.stream(), ring);
  const Walk walk{.path = Path::l2, .steps = static_cast<int>(std::min<int64_t>(ring.count / 2, 4096))};
  const Estimate value = bench.estimate(bench.probing.rule(0.3), [&] {
    bench.timer.flush_l2(bench.stream());
    return bench.chaser.step(bench.stream(), ring, walk);
  });
  bench.probing.add({"latency.dram_tlb_cold",
                     {},
                     "cold",
                     "s",
                     value,
                     "one line of each 2 MiB page of " + format_capacity(ring.span()) + ", none in L2"});
}

}  // namespace

void probe_latency(Probing& probing) {
  Bench bench(probing);
  const int64_t quarter = probing.device().info().free_bytes / 4;
  {
    const RawMemory memory(probing.device(), std::min(kGi, quarter / kPage * kPage), 8 * kMi);
    if (memory.bytes() == 0) return;
    add_chase_curve(bench, memory);
    add_small_sets(bench, memory);
    probing.progress(0.8, "DRAM");
    add_dram(bench, memory);
  }
  const RawMemory memory(probing.device(), std::min(32 * kGi, quarter / kPage * kPage), kGi);
  if (memory.bytes() > 0) {
    probing.progress(0.85, "TLBs");
    add_dram_tlb_cold(bench, memory);
    add_page_curve(bench, memory);
  }
  for (Figure& figure : cache_capacities(probing.so_far(), "latency.chase")) probing.add(std::move(figure));
  for (Figure& figure : tlb_capacities(probing.so_far())) probing.add(std::move(figure));
}

}  // namespace rafter::cuda
