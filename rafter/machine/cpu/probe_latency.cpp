// Latency: how long one load takes whose address is the load before it.
//
// The lines of a block (64 B each) are linked into one random cycle that visits every line, so that no prefetcher can guess the
// next; a walk is p = *p, 32 times in a loop, and its end is used. latency.chase is the curve over sizes in steps of about 10%,
// each size walked before it is timed, once or for 262144 steps; where it leaves a plateau a cache is full: capacity.l1, l2,
// l3. latency.l1, l2 and l3 are points inside each cache. latency.dram walks lines that were flushed from every cache and are
// visited for the first time, in pages of 2 MiB where the system grants them; latency.dram_tlb_cold does so in pages of 4 KiB,
// nearly each of which misses the TLB. Expect 4-5 cycles for L1, 12-16 for L2, 40-80 for L3 (more on servers), 70-130 ns for
// DRAM.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "rafter/base/units.h"
#include "rafter/machine/cpu/block.h"
#include "rafter/machine/cpu/caches.h"
#include "rafter/machine/cpu/probe_list.h"
#include "rafter/machine/cpu/timer.h"
#include "rafter/machine/knees.h"

namespace rafter::cpu {

namespace {

constexpr int64_t kLine = 64, kKi = 1 << 10, kMi = 1 << 20;
constexpr int kUnroll = 32;

using Random = std::mt19937;

struct Node {
  const Node* next;
};

// One cycle through a node in every `stride` bytes: Sattolo's shuffle gives a permutation that is one.
const Node* link(const Block& block, int64_t bytes, Random& random, int64_t stride = kLine) {
  const auto count = static_cast<size_t>(bytes / stride);
  std::vector<uint32_t> next(count);
  std::iota(next.begin(), next.end(), 0u);
  for (size_t i = count - 1; i > 0; --i) std::swap(next[i], next[(uint64_t{random()} * i) >> 32]);
  const auto node = [&](size_t i) { return reinterpret_cast<Node*>(block.data() + static_cast<int64_t>(i) * stride); };
  for (size_t i = 0; i < count; ++i) node(i)->next = node(next[i]);
  return node(0);
}

class Walk {
 public:
  explicit Walk(const Node* start) : at_(start) {}
  void steps(int64_t count) {
    const Node* p = at_;
    for (int64_t i = 0; i < count; i += kUnroll) {
#pragma GCC unroll 32
      for (int u = 0; u < kUnroll; ++u) p = p->next;
    }
    asm volatile("" : "+r"(p));
    at_ = p;
  }

 private:
  const Node* at_;
};

// Seconds a step, in samples of about a millisecond. A pilot says how many steps that is; its median, since one pilot that
// another process came into would make the samples so short that they only see the caches fill.
Estimate step_time(Walk& walk, const StopRule& rule) {
  constexpr int64_t kPilot = 2048;
  StopRule few;
  few.least_samples = 9;
  few.least_seconds = 0;
  const Estimate pilot = seconds([&] { walk.steps(kPilot); }, kPilot, few);
  const double wanted = pilot.median > 0 ? 1e-3 / pilot.median : 1e5;
  const auto steps = static_cast<int64_t>(std::clamp(wanted, 2048.0, 1e6)) / kUnroll * kUnroll;
  return seconds([&] { walk.steps(steps); }, static_cast<double>(steps), rule);
}

Estimate warm_walk(const Block& block, int64_t bytes, Random& random, const StopRule& rule) {
  Walk walk(link(block, bytes, random));
  walk.steps(std::min<int64_t>(bytes / kLine, int64_t{1} << 18));
  return step_time(walk, rule);
}

// Sizes that grow by `factor`, whole lines each.
std::vector<int64_t> curve_sizes(int64_t most, double factor) {
  std::vector<int64_t> sizes;
  for (double bytes = 4 * kKi; bytes < 1.001 * static_cast<double>(most); bytes *= factor) {
    sizes.push_back(static_cast<int64_t>(bytes) / kLine * kLine);
  }
  return sizes;
}

void add(Probing& probing, std::string name, int64_t bytes, const char* state, const Estimate& value, std::string remark = {}) {
  probing.add({std::move(name), {{"bytes", static_cast<double>(bytes)}}, state, "s", value, std::move(remark)});
}

void add_curve(Probing& probing, const Block& block, Random& random) {
  // A step of 10% up to 256 MiB is 117 points; quick probing takes the same range in steps of a half.
  const std::vector<int64_t> sizes = curve_sizes(std::min(block.bytes(), 256 * kMi), probing.quick() ? 1.5 : 1.1);
  double done = 0;
  for (const int64_t bytes : sizes) {
    probing.progress(0.8 * done++ / static_cast<double>(sizes.size()), fmt::format("walk over {}", format_capacity(bytes)));
    add(probing, "latency.chase", bytes, "warm", warm_walk(block, bytes, random, rule_for(probing, 0.03)));
  }
}

void add_caches(Probing& probing, const Block& block, Random& random, const std::vector<Cache>& caches) {
  for (const Cache& cache : caches) {
    if (cache.level > 3) continue;
    const int64_t wanted = cache.level == 3 ? cache.bytes / 4 : cache.bytes / 2;
    const int64_t bytes = std::min(wanted, block.bytes()) / kLine * kLine;
    add(probing, fmt::format("latency.l{}", cache.level), bytes, "warm",
        warm_walk(block, bytes, random, rule_for(probing, 0.2)),
        fmt::format("the system says L{} holds {}", cache.level, format_capacity(cache.bytes)));
  }
}

// Where the curve leaves a plateau at no more than one and a half times a cache's size and no less than half of it.
void add_capacities(Probing& probing, const std::vector<Cache>& caches) {
  std::vector<KneePoint> curve;
  for (const Figure* f : probing.so_far().all("latency.chase")) {
    curve.push_back({f->at_value("bytes").value_or(0), f->value.median});
  }
  const std::vector<Knee> knees = find_knees(curve, Worse::higher);
  for (const Cache& cache : caches) {
    const auto bytes = static_cast<double>(cache.bytes);
    const Knee* surest = nullptr;
    for (const Knee& knee : knees) {
      const bool near = knee.x > 0.5 * bytes && knee.x < 1.5 * bytes;
      if (near && (surest == nullptr || knee.sure > surest->sure)) surest = &knee;
    }
    if (surest == nullptr) continue;
    Figure figure{fmt::format("capacity.l{}", cache.level), {}, "latency", "B", {}, describe(*surest, "s")};
    figure.value.median = surest->x;
    figure.value.iqr = surest->beyond - surest->inside;
    figure.value.samples = surest->before.points;
    figure.remark = fmt::format("the system says {}; {}", format_capacity(cache.bytes), figure.remark);
    probing.add(std::move(figure));
  }
}

// Far more nodes than all samples visit, flushed once, and a pair of lines each: some processors fetch both.
void add_dram(Probing& probing, int64_t bytes, Random& random, Pages pages, const char* name, const char* remark) {
  const Block block(bytes, pages);
  Walk walk(link(block, bytes, random, 2 * kLine));
  if (!block.flush(bytes)) return;
  add(probing, name, bytes, "cold", step_time(walk, rule_for(probing, 0.1)), remark);
}

}  // namespace

void probe_latency(Probing& probing) {
  const std::vector<Cache> caches = data_caches();
  const int64_t last = caches.empty() ? 0 : caches.back().bytes;
  const int64_t free = probing.info().free_bytes / 4;
  Random random(42);
  {
    const Block block(std::max(4 * kMi, std::min(256 * kMi, free)));
    add_curve(probing, block, random);
    add_capacities(probing, caches);
    add_caches(probing, block, random, caches);
  }
  // Memory that is flushed is in no cache, whatever its size; a larger block reaches more of the TLB.
  const int64_t wanted = probing.quick() ? 64 * kMi : std::max(256 * kMi, 2 * last);
  const int64_t bytes = std::max(4 * kMi, std::min(wanted, free));
  probing.progress(0.85, "DRAM");
  add_dram(probing, bytes, random, Pages::huge, "latency.dram", "pages of 2 MiB asked for");
  probing.progress(0.95, "DRAM, small pages");
  add_dram(probing, bytes, random, Pages::small, "latency.dram_tlb_cold", "pages of 4 KiB");
}

}  // namespace rafter::cpu
