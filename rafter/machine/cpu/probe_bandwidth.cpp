// Bandwidth of DRAM and of each cache, by all threads together and by one.
//
// DRAM: as on a GPU, by how much is streamed, cold: the whole block is thrown out of the caches by cache-line flushes before
// each sample. Writes, copies and triads store around the caches, so that no line is read before it is written; only the bytes
// that the program asked for count. Caches: each thread sweeps a slice of its own many times inside one parallel section. A
// slice is half of L1 or of L2; for L3 it is L2 and half of the thread's share of L3, which fits whether or not L3 holds what
// L2 does. `bytes` is of all threads. Expect of one core at 3 to 5 GHz with 512-bit vectors: L1 300-600 GB/s read, L2 100-250,
// L3 20-60, DRAM 10-30.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/base/threads.h"
#include "rafter/base/units.h"
#include "rafter/machine/cpu/block.h"
#include "rafter/machine/cpu/caches.h"
#include "rafter/machine/cpu/probe_list.h"
#include "rafter/machine/cpu/simd_loops.h"
#include "rafter/machine/cpu/timer.h"

namespace rafter::cpu {

namespace {

constexpr int64_t kMi = int64_t{1} << 20, kStep = 4096;
constexpr float kScale = 0.5f;

int64_t whole_steps(int64_t bytes) { return bytes / kStep * kStep; }

struct Sweep {
  const char* name;
  int streams;  // that together make up the bytes of a size
  // Bytes [begin, end) of each stream; streams lie `apart` from each other.
  void (*run)(const SimdLoops& loops, char* data, int64_t apart, int64_t begin, int64_t end);
};

constexpr Sweep kSweeps[] = {
    {"read", 1, [](const SimdLoops& l, char* p, int64_t, int64_t begin, int64_t end) { l.read(p + begin, end - begin); }},
    {"write", 1, [](const SimdLoops& l, char* p, int64_t, int64_t begin, int64_t end) { l.stream(p + begin, end - begin); }},
    {"copy", 2,
     [](const SimdLoops& l, char* p, int64_t apart, int64_t begin, int64_t end) {
       l.copy(p + begin, p + apart + begin, end - begin);
     }},
    {"triad", 3,
     [](const SimdLoops& l, char* p, int64_t apart, int64_t begin, int64_t end) {
       l.triad(p + begin, p + apart + begin, kScale, p + 2 * apart + begin, end - begin);
     }},
};

Figure figure(std::string name, double bytes, const char* state, const Estimate& value) {
  return {std::move(name), {{"bytes", bytes}}, state, "B/s", value, {}};
}

class Bandwidth {
 public:
  Bandwidth(Probing& probing, const SimdLoops& loops)
      : probing_(probing), loops_(loops), caches_(data_caches()), block_(room(probing)) {}

  void dram() {
    double done = 0;
    for (const Sweep& sweep : kSweeps) {
      probing_.progress(0.7 * done++ / std::size(kSweeps), fmt::format("DRAM {}", sweep.name));
      for (const int64_t bytes : sizes()) add_cold(sweep, bytes, false);
      if (!probing_.quick() || sweep.streams == 1) add_cold(sweep, block_.bytes(), true);
    }
  }

  void caches() {
    for (const Cache& cache : caches_) {
      if (cache.level > 3) continue;
      probing_.progress(0.7 + 0.1 * (cache.level - 1), fmt::format("L{}", cache.level));
      const int all = cpu_threads().size();
      for (const double part : {0.25, 0.5}) {
        if (probing_.quick() && part < 0.5) continue;
        add_warm(cache, slice_of(cache, part, all), all);
      }
      add_warm(cache, slice_of(cache, 0.5, 1), 1);
    }
  }

 private:
  // 1 GiB, and no more than a quarter of what is free; quick probing takes an eighth of that.
  static int64_t room(const Probing& probing) {
    int64_t bytes = probing.quick() ? 128 * kMi : 1024 * kMi;
    while (bytes > 4 * kMi && bytes > probing.info().free_bytes / 4) bytes /= 2;
    return bytes;
  }

  std::vector<int64_t> sizes() const {
    std::vector<int64_t> list;
    for (int64_t bytes = kMi; bytes < block_.bytes(); bytes *= probing_.quick() ? 8 : 2) list.push_back(bytes);
    list.push_back(block_.bytes());
    return list;
  }

  int64_t all_caches() const {
    int64_t bytes = 0;
    for (const Cache& cache : caches_)
      bytes += cache.bytes * cpu_threads().size() / std::min(cache.shared_by, cpu_threads().size());
    return bytes;
  }

  void add_cold(const Sweep& sweep, int64_t bytes, bool alone) {
    const bool outgrows = bytes > 4 * all_caches();  // such a sweep finds little of what the last one left
    if (!outgrows && !block_.flush(kStep)) return;
    const int64_t each = whole_steps(bytes / sweep.streams);
    const auto work = [&] {
      if (alone) return sweep.run(loops_, block_.data(), each, 0, each);
      cpu_threads().for_range(each, kStep, [&](int64_t b, int64_t e) { sweep.run(loops_, block_.data(), each, b, e); });
    };
    const auto flush = [&] {
      if (!outgrows) block_.flush(each * sweep.streams);
    };
    const double most = bytes > 128 * kMi ? 0.35 : bytes > 16 * kMi ? 0.15 : 0.08;
    const double moved = static_cast<double>(each * sweep.streams);
    probing_.add(figure(fmt::format("dram.{}{}", sweep.name, alone ? "_1t" : ""), static_cast<double>(bytes), "cold",
                        rate(moved, work, rule_for(probing_, most), flush)));
  }

  int64_t slice_of(const Cache& cache, double part, int threads) const {
    const int sharers = std::min(cache.shared_by, threads);
    const auto share = static_cast<int64_t>(part * static_cast<double>(cache.bytes) / sharers);
    int64_t below = 0;
    for (const Cache& other : caches_) {
      if (cache.level == 3 && other.level == 2) below = other.bytes / std::min(other.shared_by, threads);
    }
    return whole_steps(std::min(below + share, block_.bytes() / threads));
  }

  void add_warm(const Cache& cache, int64_t slice, int threads) {
    if (slice < kStep) return;
    const int64_t enough = cache.level == 1 ? 256 * kMi : cache.level == 2 ? 128 * kMi : 32 * kMi;  // a few milliseconds
    const int64_t repeats = std::max<int64_t>(1, enough / slice);
    const auto add = [&](const char* what, const auto& sweep) {
      const auto body = [&](int thread) {
        char* mine = block_.data() + thread * slice;
        for (int64_t i = 0; i < repeats; ++i) sweep(mine);
      };
      const auto work = [&] { threads == 1 ? body(0) : cpu_threads().run(body); };
      const auto bytes = static_cast<double>(slice * threads);
      probing_.add(figure(fmt::format("l{}.{}{}", cache.level, what, threads == 1 && cpu_threads().size() > 1 ? "_1t" : ""),
                          bytes, "warm", rate(bytes * static_cast<double>(repeats), work, rule_for(probing_, 0.15))));
    };
    add("read", [&](char* p) { loops_.read(p, slice); });
    add("write", [&](char* p) { loops_.write(p, slice); });
  }

  Probing& probing_;
  const SimdLoops& loops_;
  const std::vector<Cache> caches_;
  const Block block_;
};

}  // namespace

void probe_bandwidth(Probing& probing) {
  const SimdLoops* loops = simd_loops();
  if (loops == nullptr) return;
  Bandwidth bandwidth(probing, *loops);
  bandwidth.dram();
  bandwidth.caches();
}

}  // namespace rafter::cpu
