#include "rafter/machine/cpu/timer.h"

#include <chrono>

namespace rafter::cpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBlocks = 512, kAddsPerBlock = 64;

// Additions of two registers: newer cores drop those of a small constant before they reach an adder.
void dependent_adds() {
#if defined(__x86_64__)
  uint64_t sum = 1;
  const uint64_t one = 1;
  for (int i = 0; i < kBlocks; ++i) asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one));
#elif defined(__aarch64__)
  uint64_t sum = 1;
  const uint64_t one = 1;
  for (int i = 0; i < kBlocks; ++i) asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(one));
#endif
}

double time_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Estimate measure_with(const std::function<double(double)>& value, const std::function<void()>& work, const StopRule& rule,
                      const std::function<void()>& before) {
  work();  // pages, caches and threads are as they will be
  return measure(
      [&] {
        if (before) before();
        const double spent = time_of(work);
        return Sample{value(spent), core_clock_hz()};
      },
      rule);
}

}  // namespace

double core_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  const double spent = time_of(dependent_adds);
  return spent > 0 ? kBlocks * kAddsPerBlock / spent : 0;
#else
  return 0;
#endif
}

StopRule rule_for(const Probing& probing, double most_seconds) {
  StopRule rule = probing.rule();
  rule.most_seconds = most_seconds * (probing.quick() ? 1.0 / 7 : 1);
  rule.least_seconds = rule.most_seconds / 4;
  return rule;
}

Estimate seconds(const std::function<void()>& work, double repeats, const StopRule& rule, const std::function<void()>& before) {
  return measure_with([&](double spent) { return spent / repeats; }, work, rule, before);
}

Estimate rate(double amount, const std::function<void()>& work, const StopRule& rule, const std::function<void()>& before) {
  return measure_with([&](double spent) { return amount / spent; }, work, rule, before);
}

}  // namespace rafter::cpu
