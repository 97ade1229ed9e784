// A caching allocator: blocks freed are kept and given out again, so that steady work asks the driver for nothing.
//
// Large requests (over 1 MiB) take blocks of their own; small ones are cut out of 2 MiB segments. Best fit within a
// size class, neighbours merged when freed. One per device; safe to call from several threads.
#pragma once

#include <cstdint>
#include <memory>

namespace rafter {

class Device;

struct AllocatorStats {
  int64_t allocated = 0;  // bytes handed out now, as rounded up
  int64_t reserved = 0;   // bytes held from the driver now
  int64_t peak_allocated = 0;
  int64_t peak_reserved = 0;
  int64_t largest_free = 0;  // the largest block that could be handed out with no driver call
  int64_t live_blocks = 0;
  int64_t driver_calls = 0;  // allocations asked of the driver so far
  // Share of the free reserved bytes that the largest free block does not cover: 0 is one free block, 1 is dust.
  double fragmentation() const;
};

class CachingAllocator {
 public:
  explicit CachingAllocator(Device& device);
  ~CachingAllocator();

  // Aligned to 256 bytes. Throws a runtime Error that names the size and what is free. Zero bytes give null.
  void* allocate(int64_t bytes);
  void free(void* pointer);
  // Gives whole unused segments back to the driver.
  void trim();
  AllocatorStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rafter
