// A random order of [0, count) that needs no memory: any element of it, by any thread, in a few steps.
//
// A Feistel network over the next power of four is a permutation whatever its round function does; values that land outside
// [0, count) are sent through it again until one lies inside (cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite
// Domains", 2002), four times on average at worst. A latency chase is built on it: a GPU links a gigabyte in a millisecond.
#pragma once

#include <cstdint>

#include "rafter/base/random.h"

namespace rafter {

class Permutation {
 public:
  RAFTER_HOST_DEVICE Permutation(uint64_t count, uint64_t key) : count_(count), key_(key), half_bits_(1) {
    while ((uint64_t{1} << (2 * half_bits_)) < count) ++half_bits_;
  }

  // Place `index` of the order; index < count.
  RAFTER_HOST_DEVICE uint64_t operator()(uint64_t index) const {
    do index = once(index);
    while (index >= count_);
    return index;
  }

 private:
  RAFTER_HOST_DEVICE uint64_t once(uint64_t value) const {
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = value >> half_bits_, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (hash(right, round) & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  RAFTER_HOST_DEVICE uint64_t hash(uint64_t half, uint64_t round) const {
    uint64_t x = half ^ key_ ^ (round + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
    x = (x ^ (x >> 29)) * 0xa0761d6478bd642full;
    return x ^ (x >> 32);
  }

  uint64_t count_, key_;
  int half_bits_;
};

}  // namespace rafter
