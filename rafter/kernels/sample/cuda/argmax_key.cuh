// A value and its index as one integer, ordered as argmax orders them: the larger value wins, then the lower index, and
// NaN and -inf lose to everything. The maximum of such keys is the same in whatever order it is taken.
#pragma once

#include <cstdint>

namespace rafter::argmax {

using Key = unsigned long long;

__device__ inline Key key_of(float value, int64_t index) {
  if (!(value > -INFINITY)) return 0;
  const uint32_t bits = __float_as_uint(value + 0.0f);  // -0 becomes +0, its equal
  const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<Key>(ordered) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

// 0 where no key was above nothing.
__device__ inline int index_of(Key key) { return key == 0 ? 0 : static_cast<int>(0xffffffffu - static_cast<uint32_t>(key)); }

__device__ inline Key larger(Key a, Key b) { return a > b ? a : b; }

}  // namespace rafter::argmax
