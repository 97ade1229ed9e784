#include "rafter/formats/tokenizer_vocabulary.h"

#include <bit>
#include <cstring>

namespace rafter {

namespace {

uint64_t mix(uint64_t value) {
  value *= 0x9e3779b97f4a7c15;
  return value ^ value >> 32;
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = mix(bytes.size() + 1);
  uint64_t word = 0;
  while (bytes.size() > sizeof word) {
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = mix(hash ^ word);
    bytes.remove_prefix(sizeof word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  return mix(mix(hash ^ word));
}

Vocabulary::Vocabulary(size_t tokens) : slots_(std::bit_ceil(tokens + tokens / 2 + 1), Slot{0, kNone}) {
  ends_.reserve(tokens + 1);
  ends_.push_back(0);
}

int32_t Vocabulary::add(std::string_view bytes) {
  bytes_ += bytes;
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  return size() - 1;
}

int32_t Vocabulary::index(int32_t id) {
  const std::string_view key = bytes(id);
  const uint64_t hash = hash_bytes(key);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].id == kNone) {
      slots_[at] = {tag, id};
      return id;
    }
    if (slots_[at].tag == tag && bytes(slots_[at].id) == key) return slots_[at].id;
  }
}

int32_t Vocabulary::find(std::string_view key) const {
  const uint64_t hash = hash_bytes(key);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.id == kNone || (slot.tag == tag && bytes(slot.id) == key)) return slot.id;
  }
}

}  // namespace rafter
