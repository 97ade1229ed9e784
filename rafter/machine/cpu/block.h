// A block of memory to measure: in pages of a wished size, filled, and thrown out of the caches on demand.
#pragma once

#include <cstdint>

namespace rafter::cpu {

enum class Pages : uint8_t {
  huge,   // of 2 MiB, where the system grants the wish
  small,  // of 4 KiB
};

class Block {
 public:
  // Every page is touched by the threads of the pool, each its own part, with floats in [1, 2) that differ. A runtime Error
  // where there is no room.
  explicit Block(int64_t bytes, Pages pages = Pages::huge);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  int64_t bytes() const { return bytes_; }
  char* data() const { return data_; }

  // The first `bytes` of it leave every cache, by all threads. False where this processor cannot do that.
  bool flush(int64_t bytes) const;

 private:
  int64_t bytes_;
  char* data_;
};

}  // namespace rafter::cpu
