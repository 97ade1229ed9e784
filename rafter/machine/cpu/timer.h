// Times work on the CPU, and the clock that it ran at.
#pragma once

#include <functional>

#include "rafter/machine/estimate.h"
#include "rafter/machine/probe.h"

namespace rafter::cpu {

// The clock of this core, from a chain of additions that wait for each other, one a cycle: some 10 us. 0 where there is no
// such chain for the processor.
double core_clock_hz();

// The time one figure may take. Quick probing takes a seventh of it.
StopRule rule_for(const Probing& probing, double most_seconds);

// Seconds that `work` takes, over `repeats` of it. `before` runs ahead of each sample, untimed.
Estimate seconds(const std::function<void()>& work, double repeats, const StopRule& rule,
                 const std::function<void()>& before = {});
// `amount` over the seconds that `work` takes.
Estimate rate(double amount, const std::function<void()>& work, const StopRule& rule, const std::function<void()>& before = {});

}  // namespace rafter::cpu
