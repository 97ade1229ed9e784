// The heap gives what the definition of byte-pair encoding gives.
#include <gtest/gtest.h>

#include <map>

#include "rafter/base/random.h"
#include "rafter/formats/bpe.h"
#include "rafter/formats/tokenizer_vocabulary.h"

namespace rafter {
namespace {

using Ids = std::vector<int32_t>;

// As the definition has it: find the best pair of all, join its leftmost place, start again.
Ids reference(const Vocabulary& vocabulary, const std::vector<Merge>& merges, std::string_view word) {
  std::map<std::pair<int32_t, int32_t>, size_t> ranks;
  for (size_t rank = 0; rank < merges.size(); ++rank) ranks[{merges[rank].left, merges[rank].right}] = rank;
  Ids ids;
  for (const char c : word) {
    const int32_t id = vocabulary.find({&c, 1});
    if (id != Vocabulary::kNone) ids.push_back(id);
  }
  while (true) {
    size_t best = merges.size(), place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = ranks.find({ids[i], ids[i + 1]});
      if (found != ranks.end() && found->second < best) best = found->second, place = i;
    }
    if (best == merges.size()) return ids;
    ids[place] = merges[best].result;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(place) + 1);
  }
}

struct RandomVocabulary {
  Vocabulary vocabulary{400};
  std::vector<Merge> merges;

  // Merges of the letters a to d, of which each part is a letter or the result of an earlier merge. There is no e.
  explicit RandomVocabulary(uint64_t seed) {
    Random random(seed);
    for (const char c : {'a', 'b', 'c', 'd'}) vocabulary.index(vocabulary.add({&c, 1}));
    for (int i = 0; i < 60; ++i) {
      const auto left = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary.size())));
      const auto right = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary.size())));
      const std::string joined = std::string(vocabulary.bytes(left)) + std::string(vocabulary.bytes(right));
      if (joined.size() > 12) continue;
      int32_t id = vocabulary.find(joined);
      if (id == Vocabulary::kNone) vocabulary.index(id = vocabulary.add(joined));
      merges.push_back({left, right, id});
    }
  }
};

TEST(Bpe, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomVocabulary random_vocabulary(seed);
    const std::vector<bool> plain(static_cast<size_t>(random_vocabulary.vocabulary.size()), true);
    const Bpe bpe(random_vocabulary.vocabulary, random_vocabulary.merges, false, plain);
    Bpe::Scratch scratch;
    Random random(seed + 1000);
    for (int i = 0; i < 200; ++i) {
      std::string word;
      for (uint64_t n = random.below(60); n > 0; --n)
        word += static_cast<char>('a' + random.below(random.below(4) == 0 ? 5 : 2));
      Ids ids = {-7};  // what is there stays
      bpe.encode(word, scratch, ids);
      ASSERT_EQ(ids.front(), -7);
      ids.erase(ids.begin());
      ASSERT_EQ(ids, reference(random_vocabulary.vocabulary, random_vocabulary.merges, word)) << word << ", seed " << seed;
    }
  }
}

TEST(Bpe, WholeWordsPassTheMergesByUnlessTheyAreSpecial) {
  Vocabulary vocabulary(4);
  for (const char* text : {"a", "b", "ab", "ba"}) vocabulary.index(vocabulary.add(text));
  Bpe::Scratch scratch;
  const auto encode = [&](bool whole_words, const std::vector<bool>& plain, std::string_view word) {
    Ids ids;
    Bpe(vocabulary, {}, whole_words, plain).encode(word, scratch, ids);
    return ids;
  };
  EXPECT_EQ(encode(false, {true, true, true, true}, "ab"), (Ids{0, 1}));
  EXPECT_EQ(encode(true, {true, true, true, true}, "ab"), (Ids{2}));
  EXPECT_EQ(encode(true, {true, true, true, true}, "aba"), (Ids{0, 1, 0}));
  EXPECT_EQ(encode(true, {true, true, false, true}, "ab"), (Ids{0, 1}));
}

TEST(Vocabulary, FindsWhatIsIndexedAndTheFirstOfTwins) {
  Vocabulary vocabulary(5000);
  for (int i = 0; i < 5000; ++i) vocabulary.add(std::to_string(i / 2));
  for (int i = 0; i < 5000; i += 1) {
    if (i % 10 < 8) vocabulary.index(i);
  }
  for (int i = 0; i < 5000; i += 2) {
    EXPECT_EQ(vocabulary.find(std::to_string(i / 2)), i % 10 < 8 ? i : Vocabulary::kNone);
    EXPECT_EQ(vocabulary.bytes(i), std::to_string(i / 2));
  }
  EXPECT_EQ(vocabulary.find(""), Vocabulary::kNone);
  EXPECT_EQ(vocabulary.find("x"), Vocabulary::kNone);
}

}  // namespace
}  // namespace rafter
