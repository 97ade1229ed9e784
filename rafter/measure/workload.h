// What benches and traces feed a model: random tokens, and a cache that holds a given number of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rafter/base/random.h"
#include "rafter/engine/engine.h"

namespace rafter {

// Told how far a piece of a measurement has come; how far the whole has come, and what it does now.
using FractionDone = std::function<void(double fraction)>;
using MeasureProgress = std::function<void(double fraction, const std::string& what)>;

class Workload {
 public:
  explicit Workload(Engine& engine, uint64_t seed = 1) : engine_(engine), random_(seed) {}

  // Tokens that are never all the same: each is drawn from the whole vocabulary.
  std::vector<int32_t> tokens(int64_t count);
  // Gives every sequence exactly `depth` tokens. What it holds already is kept.
  void fill(int64_t depth, const FractionDone& done = {});
  // Engine::prefill() of the last token's logits or none, told of between its chunks.
  void prefill(int64_t sequence, std::span<const int32_t> prompt, LogitRows rows, const FractionDone& done = {});

 private:
  Engine& engine_;
  Random random_;
};

}  // namespace rafter
