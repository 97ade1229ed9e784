// Philox 4x32-10, a counter-based generator: value i of a seed needs no value before it, so a CPU thread and a
// CUDA thread make the same numbers in any order. J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define RAFTER_HOST_DEVICE __host__ __device__
#else
#define RAFTER_HOST_DEVICE
#endif

namespace rafter {

struct Philox4 {
  uint32_t word[4];
};

RAFTER_HOST_DEVICE inline Philox4 philox(uint64_t seed, uint64_t counter) {
  uint32_t x[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0u, 0u};
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * x[0];
    const uint64_t b = static_cast<uint64_t>(0xCD9E8D57u) * x[2];
    const uint32_t y0 = static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0;
    const uint32_t y2 = static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1;
    x[1] = static_cast<uint32_t>(b);
    x[3] = static_cast<uint32_t>(a);
    x[0] = y0;
    x[2] = y2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{x[0], x[1], x[2], x[3]}};
}

// [0, 1) with 24 bits.
RAFTER_HOST_DEVICE inline float to_unit(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// Value `index` of the uniform stream of `seed` on [-1, 1).
RAFTER_HOST_DEVICE inline float uniform_at(uint64_t seed, uint64_t index) {
  return 2.0f * to_unit(philox(seed, index >> 2).word[index & 3]) - 1.0f;
}

// A sequential view of one seed, for samplers and tests.
class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  uint32_t next() { return philox(seed_, count_ >> 2).word[count_++ & 3]; }
  float unit() { return to_unit(next()); }
  float uniform(float low, float high) { return low + (high - low) * unit(); }
  // Integer in [0, bound).
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((static_cast<uint64_t>(next()) * bound) >> 32); }
  // Standard normal, by Box-Muller.
  float normal() {
    const float radius = std::sqrt(-2.0f * std::log(1.0f - unit()));
    return radius * std::cos(6.28318530717958648f * unit());
  }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

}  // namespace rafter
