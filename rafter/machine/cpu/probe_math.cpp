// Rates of the vector units: multiply-adds in twelve independent chains a thread, operands in registers.
//
// math.* is of all threads together, math1.* of one alone (a name of its own, so that Machine::rate() never takes it). A
// multiply-add is two operations. int8 is a dot product of bytes where the processor has one (VNNI), else of 16-bit numbers.
// BF16 is measured where there is an instruction for it; elsewhere such weights are computed in FP32, and Machine::rate() says
// so. Matrix tiles (AMX) are not measured: no kernel here uses them. Expect 2 units x lanes x 2 x clock for FP32 (lanes: 16
// with AVX-512, 8 with AVX2, 4 with NEON), and four times that for int8.
#include "rafter/base/threads.h"
#include "rafter/machine/cpu/probe_list.h"
#include "rafter/machine/cpu/simd_loops.h"
#include "rafter/machine/cpu/timer.h"

namespace rafter::cpu {

namespace {

// Rounds of a loop that take one thread about two milliseconds.
int64_t rounds_of(MathLoop loop) {
  constexpr int64_t kPilot = 20000;
  StopRule few;
  few.least_samples = 3;
  few.least_seconds = 0;
  few.most_seconds = 0.01;
  const Estimate pilot = seconds([&] { loop(kPilot); }, kPilot, few);
  return pilot.median > 0 ? static_cast<int64_t>(2e-3 / pilot.median) + 1 : kPilot;
}

void add(Probing& probing, const char* what, MathLoop loop, const char* unit, const char* remark) {
  const int64_t rounds = rounds_of(loop);
  const int threads = cpu_threads().size();
  const double each = loop(rounds);
  const auto all = [&] { cpu_threads().run([&](int) { loop(rounds); }); };
  const auto one = [&] { loop(rounds); };
  const std::string name = std::string(what) + ".simd";
  probing.add({"math." + name, {}, "burst", unit, rate(each * threads, all, rule_for(probing, 0.3)), remark});
  probing.add({"math1." + name, {}, "burst", unit, rate(each, one, rule_for(probing, 0.3)), remark});
}

}  // namespace

void probe_math(Probing& probing) {
  if (const SimdLoops* loops = simd_loops()) {
    add(probing, "fp32", loops->fma, "FLOP/s", "");
    probing.progress(0.4, "int8");
    add(probing, "int8", loops->int8_dot, "1/s", loops->int8_remark);
  }
  probing.progress(0.7, "bf16");
  if (const MathLoop loop = bf16_loop()) add(probing, "bf16", loop, "FLOP/s", "");
}

}  // namespace rafter::cpu
