// The bytes of every token, and the way back from bytes to a token.
//
// Loading a vocabulary of 150,000 tokens is the larger part of a tokenizer's start-up, so the bytes lie end to end in one
// buffer and the index is one flat open-addressing table: two allocations, no node per token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

uint64_t hash_bytes(std::string_view bytes);

class Vocabulary {
 public:
  static constexpr int32_t kNone = -1;

  explicit Vocabulary(size_t tokens);

  // The next token, by its bytes. Ids count from 0; nothing is indexed yet.
  int32_t add(std::string_view bytes);
  // Lets find() return `id`, unless an earlier token with the same bytes does already. Gives what find() then returns.
  int32_t index(int32_t id);

  int32_t size() const { return static_cast<int32_t>(ends_.size()) - 1; }
  std::string_view bytes(int32_t id) const { return std::string_view(bytes_).substr(ends_[id], ends_[id + 1] - ends_[id]); }
  int32_t find(std::string_view bytes) const;  // kNone where no indexed token has these bytes

 private:
  struct Slot {
    uint32_t tag;  // high half of the hash: most misses are told apart without touching the bytes
    int32_t id;
  };
  std::string bytes_;
  std::vector<uint32_t> ends_;  // token i is bytes_[ends_[i], ends_[i + 1])
  std::vector<Slot> slots_;     // a power of two, at most two thirds full
};

}  // namespace rafter
