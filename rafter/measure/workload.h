// What benches and traces feed a model: random tokens, and a cache that holds a given number of them.
#pragma once

#include <cstdint>
#include <vector>

#include "rafter/base/random.h"
#include "rafter/engine/engine.h"

namespace rafter {

class Workload {
 public:
  explicit Workload(Engine& engine, uint64_t seed = 1) : engine_(engine), random_(seed) {}

  // Tokens that are never all the same: each is drawn from the whole vocabulary.
  std::vector<int32_t> tokens(int64_t count);
  // Gives every sequence exactly `depth` tokens. What it holds already is kept.
  void fill(int64_t depth);

 private:
  Engine& engine_;
  Random random_;
};

}  // namespace rafter
