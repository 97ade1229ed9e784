// llama-bench's two tests: how fast a prompt is read (pp) and how fast text is generated (tg), each from a depth of tokens
// that the cache holds already.
//
// pp: one prefill of random tokens, until the last one's logits are on the host. tg: greedy steps in a chain, fed by their
// own choices on the device; the host sees each token, one step late on a GPU, as `rafter run` does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rafter/engine/engine.h"
#include "rafter/machine/floor.h"
#include "rafter/measure/gpu_state.h"
#include "rafter/measure/workload.h"
#include "rafter/ops/cost.h"

namespace rafter {

enum class BenchKind : uint8_t { prefill, decode };

struct BenchTest {
  BenchKind kind = BenchKind::decode;
  int64_t tokens = 0;  // of the prompt, or steps of each sequence
  int64_t depth = 0;   // tokens in the cache when it starts
};

// "pp512", "tg128 @ d4096"
std::string name(const BenchTest& test);

struct BenchResult {
  BenchTest test;
  int64_t batch = 1;            // sequences decoded together; 1 for prefill
  std::vector<double> seconds;  // of the whole test, one a repetition
  Cost cost;                    // of the whole test
  std::optional<Floor> floor;   // of one step, by add_floor()
  GpuState state;               // of the GPU at the end of the last repetition, before it could rest
  double tokens() const { return static_cast<double>(test.tokens * batch); }
  int64_t steps() const { return test.kind == BenchKind::decode ? test.tokens : 1; }
};

// After one repetition that is not counted. The engine's context must hold depth + tokens (an input Error otherwise).
// `progress` is told of each repetition, and inside it as the cache is filled and tokens are read or made.
BenchResult run_bench(Engine& engine, const BenchTest& test, int64_t repetitions, const MeasureProgress& progress = {});

// Lays one step (a prompt, or the mean decode step) against the machine's roofs, at the roof of the step's bytes, cold.
void add_floor(BenchResult& result, const Machine& machine);

// The cost of every op of a plan together.
Cost plan_cost(const Plan& plan, const CostContext& context);

}  // namespace rafter
