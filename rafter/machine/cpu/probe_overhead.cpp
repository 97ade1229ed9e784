// What it costs to share work, and to look at the clock.
//
// overhead.parallel is one empty section of the thread pool, entered again at once, as ops of a decode step follow each other:
// the workers still spin. overhead.clock is one reading of the steady clock that all times here are made of.
#include <chrono>

#include "rafter/base/threads.h"
#include "rafter/machine/cpu/probe_list.h"
#include "rafter/machine/cpu/timer.h"

namespace rafter::cpu {

void probe_overhead(Probing& probing) {
  constexpr int kSections = 500, kReadings = 20000;
  const auto sections = [] {
    for (int i = 0; i < kSections; ++i) cpu_threads().run([](int) {});
  };
  const auto readings = [] {
    for (int i = 0; i < kReadings; ++i) {
      auto now = std::chrono::steady_clock::now();
      asm volatile("" : "+r"(now));
    }
  };
  probing.add({"overhead.parallel", {}, "", "s", seconds(sections, kSections, rule_for(probing, 0.4)), {}});
  probing.progress(0.5, "clock");
  probing.add({"overhead.clock", {}, "", "s", seconds(readings, kReadings, rule_for(probing, 0.2)), {}});
}

}  // namespace rafter::cpu
