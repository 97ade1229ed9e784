// Times a stretch of device code on one SM by both of its clocks.
#pragma once

#include <cstdint>

#include "rafter/machine/cuda/gpu_timer.h"

namespace rafter::cuda {

__device__ inline int64_t global_nanoseconds() {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ inline int64_t sm_cycles() {
  int64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}

class Stopwatch {
 public:
  __device__ Stopwatch() : nanoseconds_(global_nanoseconds()), cycles_(sm_cycles()) {}
  __device__ Stamp read() const {
    const int64_t cycles = sm_cycles() - cycles_;
    return {cycles, global_nanoseconds() - nanoseconds_};
  }

 private:
  int64_t nanoseconds_, cycles_;
};

}  // namespace rafter::cuda
