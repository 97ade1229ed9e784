#include "rafter/measure/bench.h"

#include <algorithm>
#include <chrono>

#include "rafter/base/error.h"
#include "rafter/measure/workload.h"

namespace rafter {

namespace {

using Clock = std::chrono::steady_clock;

void decode_chain(Engine& engine, int64_t steps, const FractionDone& done) {
  const int ahead = engine.options().device.kind == DeviceKind::cuda ? Engine::kAhead : 1;
  for (int64_t i = 0; i < steps; ++i) {
    engine.greedy_step();
    if (engine.greedy_pending() == ahead) engine.greedy_take();
    done(static_cast<double>(i + 1) / static_cast<double>(steps));
  }
  while (engine.greedy_pending() > 0) engine.greedy_take();
}

double timed_prefill(Engine& engine, Workload& workload, const BenchTest& test, const FractionDone& done) {
  const std::vector<int32_t> prompt = workload.tokens(test.tokens);
  engine.synchronize();
  const auto start = Clock::now();
  workload.prefill(0, prompt, LogitRows::last, done);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double timed_decode(Engine& engine, Workload& workload, const BenchTest& test, const FractionDone& done) {
  engine.greedy_start(workload.tokens(engine.options().batch));
  engine.synchronize();
  const auto start = Clock::now();
  decode_chain(engine, test.tokens, done);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Cost prefill_cost(Engine& engine, const BenchTest& test) {
  Cost total;
  for (int64_t done = 0; done < test.tokens;) {
    const int64_t chunk = std::min(engine.options().chunk, test.tokens - done);
    const LogitRows rows = done + chunk == test.tokens ? LogitRows::last : LogitRows::none;
    total += plan_cost(engine.prefill_program(chunk, rows).plan(), {test.depth + done});
    done += chunk;
  }
  return total;
}

Cost decode_cost(Engine& engine, const BenchTest& test) {
  Cost total;
  const Plan& plan = engine.decode_program(true).plan();
  for (int64_t step = 0; step < test.tokens; ++step) total += plan_cost(plan, {test.depth + step});
  return total;
}

}  // namespace

std::string name(const BenchTest& test) {
  const std::string base = fmt::format("{}{}", test.kind == BenchKind::prefill ? "pp" : "tg", test.tokens);
  return test.depth > 0 ? fmt::format("{} @ d{}", base, test.depth) : base;
}

Cost plan_cost(const Plan& plan, const CostContext& context) {
  Cost total;
  for (const Op& op : plan.ops()) {
    const Plan::Operands operands = plan.operands(op);
    total += cost(operands.view(op), context);
  }
  return total;
}

void add_floor(BenchResult& result, const Machine& machine) {
  const auto steps = static_cast<double>(result.steps());
  Cost step = result.cost;
  step.bytes_read /= steps;
  step.bytes_written /= steps;
  for (double& flops : step.work) flops /= steps;
  result.floor = floor(step, machine);
}

BenchResult run_bench(Engine& engine, const BenchTest& test, int64_t repetitions, const MeasureProgress& progress) {
  if (test.depth + test.tokens > engine.options().context) {
    throw input_error({"the test " + name(test), fmt::format("{} tokens long", test.depth + test.tokens),
                       fmt::format("at most the context of {}", engine.options().context)});
  }
  const bool decode = test.kind == BenchKind::decode;
  BenchResult result;
  result.test = test;
  result.batch = decode ? engine.options().batch : 1;
  if (decode) engine.prepare_decode(true);
  Workload workload(engine);
  const auto parts = static_cast<double>(repetitions + 1 + (test.depth > 0 ? 1 : 0));
  double part = 0;
  const auto tell = [&](double fraction, const std::string& what) {
    if (progress) progress((part + fraction) / parts, what);
  };
  if (test.depth > 0) {
    workload.fill(test.depth, [&](double fraction) { tell(fraction, "filling the cache"); });
    part += 1;
  }
  for (int64_t i = -1; i < repetitions; ++i) {  // the first one warms up
    const std::string what = i < 0 ? "warming up" : fmt::format("repetition {} of {}", i + 1, repetitions);
    const FractionDone done = [&](double fraction) { tell(fraction, what); };
    done(0);
    workload.fill(test.depth);  // takes away what the last one added
    const double seconds = decode ? timed_decode(engine, workload, test, done) : timed_prefill(engine, workload, test, done);
    if (i >= 0) result.seconds.push_back(seconds);
    if (i + 1 == repetitions) result.state = gpu_state(engine.options().device);
    part += 1;
  }
  result.cost = decode ? decode_cost(engine, test) : prefill_cost(engine, test);
  return result;
}

}  // namespace rafter
