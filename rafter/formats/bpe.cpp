#include "rafter/formats/bpe.h"

#include <algorithm>
#include <bit>

namespace rafter {

namespace {

constexpr uint32_t kNoRank = UINT32_MAX;
constexpr uint32_t kNoSymbol = UINT32_MAX;

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t slot_of(uint64_t pair, size_t slots) {
  const uint64_t hash = pair * 0x9e3779b97f4a7c15;
  return (hash ^ hash >> 32) & (slots - 1);
}

// Lowest rank first; of equal ranks, which are the same pair, the leftmost.
bool is_after(const Bpe::Scratch::Candidate& a, const Bpe::Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, std::span<const Merge> merges, bool whole_words, const std::vector<bool>& is_plain)
    : vocabulary_(vocabulary),
      is_plain_(is_plain),
      whole_words_(whole_words),
      slots_(std::bit_ceil(merges.size() + merges.size() / 2 + 1), Slot{0, kNoRank, 0}) {
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    byte_tokens_[byte] = vocabulary.find({&text, 1});
  }
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const uint64_t pair = pair_key(merges[rank].left, merges[rank].right);
    size_t at = slot_of(pair, slots_.size());
    while (slots_[at].rank != kNoRank && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {pair, static_cast<uint32_t>(rank), merges[rank].result};
  }
}

const Bpe::Slot* Bpe::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_key(left, right);
  for (size_t at = slot_of(pair, slots_.size());; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].rank == kNoRank) return nullptr;
    if (slots_[at].pair == pair) return &slots_[at];
  }
}

void Bpe::push(Scratch& scratch, uint32_t left, uint32_t right) const {
  if (left == kNoSymbol || right == kNoSymbol) return;
  const int32_t left_id = scratch.symbols[left].id, right_id = scratch.symbols[right].id;
  if (const Slot* slot = find(left_id, right_id)) {
    scratch.heap.push_back({slot->rank, left, left_id, right_id, slot->result});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), is_after);
  }
}

void Bpe::merge_all(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_after);
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    // A candidate is stale once either side has been joined to something else.
    Scratch::Symbol& left = symbols[best.left];
    if (left.id != best.left_id || left.next == kNoSymbol || symbols[left.next].id != best.right_id) continue;
    Scratch::Symbol& right = symbols[left.next];
    left.id = best.result;
    left.next = right.next;
    right.id = Vocabulary::kNone;
    if (left.next != kNoSymbol) symbols[left.next].previous = best.left;
    push(scratch, left.previous, best.left);
    push(scratch, best.left, left.next);
  }
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& tokens) const {
  if (whole_words_) {
    const int32_t id = vocabulary_.find(word);
    if (id != Vocabulary::kNone && is_plain_[id]) {
      tokens.push_back(id);
      return;
    }
  }
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (const char c : word) {
    const int32_t id = byte_tokens_[static_cast<unsigned char>(c)];
    if (id == Vocabulary::kNone) continue;
    const auto at = static_cast<uint32_t>(symbols.size());
    symbols.push_back({id, at - 1, at + 1});  // at - 1 of the first wraps round to kNoSymbol
  }
  if (symbols.empty()) return;
  symbols.back().next = kNoSymbol;
  scratch.heap.clear();
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) push(scratch, i, i + 1);
  merge_all(scratch);
  for (uint32_t i = 0; i != kNoSymbol; i = symbols[i].next) tokens.push_back(symbols[i].id);
}

}  // namespace rafter
