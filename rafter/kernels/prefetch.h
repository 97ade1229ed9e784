// Memory asked for ahead of its use, on the CPU.
#pragma once

namespace rafter {

// Into the L2 cache: its queue of lines to come is longer than that of L1. Any address will do.
inline void prefetch(const void* p) {
  __builtin_prefetch(p, 0, 2);
  asm volatile("");  // else GCC takes functions that do nothing but this for ones without effect, and leaves them out
}

}  // namespace rafter
