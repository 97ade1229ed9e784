// Byte-pair encoding: a word starts as one symbol per byte, and the pair of neighbours whose merge has the lowest rank is
// joined, leftmost first, until no pair has a merge (Sennrich et al. 2016, https://arxiv.org/abs/1508.07909).
//
// A heap of candidate pairs over a linked list of symbols makes a word of n bytes cost O(n log n): a "word" may be 50,000
// equal letters. Merges are looked up by a pair of ids in one flat table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rafter/formats/tokenizer_vocabulary.h"

namespace rafter {

struct Merge {
  int32_t left, right, result;
};

class Bpe {
 public:
  // Merges in order of rank; of two for one pair the later counts. The vocabulary must outlive the object.
  // With `whole_words` a word that is a token in itself is that token, whatever the merges say (`ignore_merges`), where
  // `is_plain[id]` allows it.
  Bpe(const Vocabulary& vocabulary, std::span<const Merge> merges, bool whole_words, const std::vector<bool>& is_plain);

  // Room for the work on one word, kept between words so that none of them allocates.
  struct Scratch {
    struct Symbol {
      int32_t id;  // kNone once it has been joined to its left neighbour
      uint32_t previous, next;
    };
    struct Candidate {
      uint32_t rank, left;
      int32_t left_id, right_id, result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };
  // Appends the tokens of one word. A byte that has no token of its own is left out. Words are below 4 GiB.
  void encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& tokens) const;

  // The token of one byte, Vocabulary::kNone where there is none.
  int32_t byte_token(unsigned char byte) const { return byte_tokens_[byte]; }

 private:
  struct Slot {
    uint64_t pair;
    uint32_t rank;
    int32_t result;
  };
  const Slot* find(int32_t left, int32_t right) const;
  void push(Scratch& scratch, uint32_t left, uint32_t right) const;
  void merge_all(Scratch& scratch) const;

  const Vocabulary& vocabulary_;
  std::vector<bool> is_plain_;
  bool whole_words_;
  int32_t byte_tokens_[256];
  std::vector<Slot> slots_;  // a power of two, at most two thirds full; rank kNoRank marks an empty one
};

}  // namespace rafter
