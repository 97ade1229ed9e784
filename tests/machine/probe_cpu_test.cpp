// The CPU probes, quick, on whatever machine this is: figures must be complete and lie within what physics allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "rafter/machine/cpu/caches.h"
#include "rafter/machine/cpu/simd_loops.h"
#include "rafter/machine/floor.h"
#include "rafter/machine/probe.h"
#include "tests/support/errors.h"
#include "tests/support/sanitized.h"

namespace rafter {
namespace {

// What a probe finds, run once for all tests of a process.
const Machine& probed(const std::string& name) {
  static std::map<std::string, Machine> machines;
  const auto found = machines.find(name);
  return found != machines.end() ? found->second
                                 : machines.emplace(name, probe(device({}), {.quick = true, .only = {name}})).first->second;
}

double value(const std::string& probe, std::string_view name) {
  const Figure* f = probed(probe).find(name);
  return f == nullptr ? 0 : f->value.median;
}

double at_largest(std::string_view name) {
  const auto figures = probed("bandwidth").all(name);
  return figures.empty() ? 0 : figures.back()->value.median;
}

TEST(ProbeCpu, EveryFigureIsWholeAndUniqueByKey) {
  const Machine machine = probe(device({}), {.quick = true});
  std::set<std::string> keys;
  EXPECT_GT(machine.figures.size(), 40u);
  for (const Figure& f : machine.figures) {
    EXPECT_TRUE(keys.insert(f.key()).second) << f.key();
    EXPECT_GT(f.value.median, 0) << f.key();
    EXPECT_TRUE(std::isfinite(f.value.median) && std::isfinite(f.value.iqr)) << f.key();
    EXPECT_GE(f.value.samples, 1) << f.key();
    EXPECT_FALSE(f.unit.empty()) << f.key();
    if (f.value.clock_hz == 0) continue;
    EXPECT_GT(f.value.clock_hz, 0.2e9) << f.key();
    EXPECT_LT(f.value.clock_hz, 8e9) << f.key();
  }
  EXPECT_TRUE(machine.quick);
  EXPECT_GT(machine.threads, 0);
  EXPECT_GT(machine.probe_seconds, 0);
  for (const MathUnit unit : {MathUnit::fp32, MathUnit::f16, MathUnit::bf16, MathUnit::int8}) {
    const Cost cost{1e6, 1e3, work_on(unit, 1e6)};
    EXPECT_TRUE(machine.rate(unit)) << name(unit);
    ASSERT_TRUE(floor(cost, machine)) << name(unit);
    EXPECT_GT(floor(cost, machine)->seconds, 0);
  }
}

TEST(ProbeCpu, BandwidthsArePlausible) {
  for (const char* name : {"dram.read", "dram.write", "dram.copy", "dram.triad", "dram.read_1t"}) {
    EXPECT_GT(at_largest(name), 2e8) << name;
    EXPECT_LT(at_largest(name), 2e12) << name;
  }
}

TEST(ProbeCpu, CachesAreFasterThanMemory) {
  if (cpu::data_caches().size() < 2) GTEST_SKIP() << "the system does not say which caches there are";
  if (test::kSanitized) GTEST_SKIP() << "loads that are checked take as long from every cache";
  const double l1 = at_largest("l1.read"), l2 = at_largest("l2.read"), dram = at_largest("dram.read");
  EXPECT_GT(l1, 0.5 * l2);
  EXPECT_GT(l2, 0.5 * dram);
  EXPECT_GT(l1, 1.5 * dram);
  EXPECT_LT(l1, 2e12 * probed("bandwidth").threads);
}

TEST(ProbeCpu, LatenciesAreOrderedAndPlausible) {
  const auto curve = probed("latency").all("latency.chase", "warm");
  ASSERT_GT(curve.size(), 15u);
  EXPECT_EQ(curve.front()->at_value("bytes"), 4096);
  EXPECT_GT(curve.back()->value.median, 2 * curve.front()->value.median);
  if (cpu::data_caches().size() < 2) GTEST_SKIP() << "the system does not say which caches there are";
  const double l1 = value("latency", "latency.l1"), l2 = value("latency", "latency.l2"),
               dram = value("latency", "latency.dram");
  EXPECT_GT(l1, 0.3e-9);
  EXPECT_LT(l1, 20e-9);
  EXPECT_LT(l1, 1.2 * l2);
  EXPECT_LT(l2, dram);
  EXPECT_GT(dram, 20e-9);
  EXPECT_LT(dram, 5e-6);
  EXPECT_GT(value("latency", "latency.dram_tlb_cold"), 0.5 * dram);
}

TEST(ProbeCpu, RatesArePlausible) {
  const double fp32 = value("math", "math1.fp32.simd"), clock = probed("math").find("math1.fp32.simd")->value.clock_hz;
  EXPECT_GT(fp32, 1e8);
  EXPECT_LT(fp32, 1e12);
  if (clock > 0) {
    EXPECT_LT(fp32, clock * 64 * 1.5);  // two units of sixteen lanes, two operations each
  }
  EXPECT_GE(value("math", "math.fp32.simd"), 0.1 * fp32);  // other processes may have the other cores
}

TEST(ProbeCpu, OverheadsArePlausible) {
  EXPECT_LT(value("overhead", "overhead.clock"), 20e-6);
  EXPECT_LT(value("overhead", "overhead.parallel"), 50e-3);
}

TEST(ProbeCpu, OneProbeAloneReportsItsProgress) {
  std::vector<double> fractions;
  const Machine machine = probe(device({}), {.quick = true, .only = {"overhead"}}, [&](double f, const std::string& what) {
    fractions.push_back(f);
    EXPECT_TRUE(what.starts_with("overhead")) << what;
  });
  ASSERT_FALSE(fractions.empty());
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_LE(fractions.back(), 1);
  for (const Figure& f : machine.figures) EXPECT_TRUE(f.name.starts_with("overhead.")) << f.name;
}

TEST(ProbeCpu, AnUnknownProbeIsNamedBesideThoseThereAre) {
  test::expect_input_error([] { probe(device({}), {.only = {"dream"}}); }, {"'dream'", "bandwidth, latency, math, overhead"});
}

TEST(Caches, ListsAndSizesAreReadAndOtherTextsAreNot) {
  EXPECT_EQ(cpu::count_cpus("0"), 1);
  EXPECT_EQ(cpu::count_cpus("0-3,8"), 5);
  for (const char* bad : {"", "x", "0-", "3-1", "0,", "0 1", "0-99999999999"}) EXPECT_EQ(cpu::count_cpus(bad), 0) << bad;
  EXPECT_EQ(cpu::parse_cache_size("48K"), 48 << 10);
  EXPECT_EQ(cpu::parse_cache_size("105M"), 105 << 20);
  EXPECT_EQ(cpu::parse_cache_size("512"), 512);
  for (const char* bad : {"", "K", "-4K", "4KB", "99999999999999999999K"}) EXPECT_EQ(cpu::parse_cache_size(bad), 0) << bad;
}

// The loops do what they are timed for: checked where a result can be seen.
TEST(SimdLoops, CopyTriadAndWriteReachEveryByte) {
  const cpu::SimdLoops* loops = cpu::simd_loops();
  if (loops == nullptr) GTEST_SKIP() << "no vectors";
  constexpr size_t kCount = 2048;  // floats: two steps of 4096 bytes
  struct alignas(64) Floats {
    float v[kCount + 16];
  } a, b, c;
  for (size_t i = 0; i < kCount; ++i) {
    a.v[i] = static_cast<float>(i);
    b.v[i] = 2.0f * static_cast<float>(i);
  }
  const auto bytes = [](Floats& f) { return reinterpret_cast<char*>(f.v); };
  c.v[kCount] = -7;  // stays
  loops->copy(bytes(a), bytes(c), kCount * 4);
  EXPECT_TRUE(std::equal(a.v, a.v + kCount, c.v));
  loops->triad(bytes(a), bytes(b), 0.5f, bytes(c), kCount * 4);
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(c.v[i], 2.0f * static_cast<float>(i)) << i;
  for (const auto write : {loops->write, loops->stream}) {
    std::fill(c.v, c.v + kCount, 0.0f);
    write(bytes(c), kCount * 4);
    EXPECT_EQ(std::count(c.v, c.v + kCount, c.v[0]), static_cast<ptrdiff_t>(kCount));
    EXPECT_NE(c.v[0], 0);
  }
  EXPECT_EQ(c.v[kCount], -7);
}

TEST(SimdLoops, OperationsGrowWithTheRounds) {
  const cpu::SimdLoops* loops = cpu::simd_loops();
  if (loops == nullptr) GTEST_SKIP() << "no vectors";
  EXPECT_EQ(loops->fma(20), 2 * loops->fma(10));
  EXPECT_EQ(loops->int8_dot(20), 2 * loops->int8_dot(10));
}

}  // namespace
}  // namespace rafter
