// How many blocks of a kernel an SM holds at once, and what stands in the way of one more.
//
// The rules are those of the CUDA programming guide's appendix on compute capabilities: registers are given out by the warp in
// units of 256, shared memory in units of 128 bytes on top of what the system keeps for each block (1 KiB since sm_80).
#pragma once

#include <cstdint>
#include <string_view>

namespace rafter {

struct SmLimits {
  int threads = 2048, blocks = 32;
  int registers = 65536;
  int64_t shared_bytes = 228 * 1024;
  int64_t shared_per_block_kept = 1024;
};

struct BlockNeeds {
  int threads = 256;
  int registers_per_thread = 32;
  int64_t shared_bytes = 0;
};

enum class OccupancyLimit : uint8_t { threads, blocks, registers, shared_memory };
std::string_view name(OccupancyLimit limit);

struct Occupancy {
  int blocks = 0;  // resident on an SM together; 0 where not even one fits
  int warps = 0;
  double fraction = 0;  // of the warps that an SM can hold
  OccupancyLimit limit = OccupancyLimit::threads;
};

Occupancy predict_occupancy(const SmLimits& sm, const BlockNeeds& block);

}  // namespace rafter
