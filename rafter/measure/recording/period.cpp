// A period shows in how far back the same piece of the sequence was last seen. With short pieces that is the innermost
// period, with pieces longer than a run of layers it is the step: lengths of pieces are doubled, and for each the distances
// that most pieces agree on are candidates, which are then checked symbol by symbol.
#include "rafter/measure/recording/period.h"

#include <algorithm>
#include <set>

namespace rafter {

namespace {

constexpr uint64_t kBase = 0x9E3779B97F4A7C15ULL;  // odd, so that powers of it keep their bits
constexpr size_t kDistances = 2;                   // candidates of each length of pieces

// Bits of a symbol spread over the word (the finaliser of SplitMix64).
uint64_t spread(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

uint64_t power(uint64_t base, size_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// The hash of each piece of one length as it slides over the sequence.
class SlidingHash {
 public:
  SlidingHash(std::span<const uint32_t> symbols, size_t length)
      : symbols_(symbols), length_(length), leaving_(power(kBase, length)) {
    for (size_t i = 0; i < length; ++i) hash_ = hash_ * kBase + spread(symbols[i] + 1ULL);
  }
  uint64_t hash() const { return spread(hash_); }
  size_t at() const { return at_; }
  bool slide() {
    if (at_ + length_ >= symbols_.size()) return false;
    hash_ = hash_ * kBase + spread(symbols_[at_ + length_] + 1ULL) - leaving_ * spread(symbols_[at_] + 1ULL);
    ++at_;
    return true;
  }

 private:
  std::span<const uint32_t> symbols_;
  size_t length_, at_ = 0;
  uint64_t leaving_, hash_ = 0;
};

// Where each piece was last seen. A slot that another piece took is a sighting lost, no more.
class LastSeen {
 public:
  explicit LastSeen(size_t pieces) {
    size_t size = 64;
    while (size < 2 * pieces) size *= 2;
    slots_.resize(size);
  }
  void clear() { std::fill(slots_.begin(), slots_.end(), Slot{}); }
  // How far back the piece was seen; 0: never.
  size_t distance(uint64_t hash, size_t at) {
    Slot& slot = slots_[hash & (slots_.size() - 1)];
    const auto tag = static_cast<uint32_t>(hash >> 32);
    const size_t back = slot.next > 0 && slot.tag == tag ? at + 1 - slot.next : 0;
    slot = {tag, static_cast<uint32_t>(at + 1)};
    return back;
  }

 private:
  struct Slot {
    uint32_t tag = 0, next = 0;
  };
  std::vector<Slot> slots_;
};

std::set<size_t> candidates(std::span<const uint32_t> symbols) {
  std::set<size_t> found;
  LastSeen seen(symbols.size());
  std::vector<uint32_t> counts(symbols.size());
  for (size_t length = 1; length <= symbols.size() / 3; length *= 2) {
    seen.clear();
    std::fill(counts.begin(), counts.end(), 0);
    SlidingHash piece(symbols, length);
    do ++counts[seen.distance(piece.hash(), piece.at())];
    while (piece.slide());
    counts[0] = 0;
    const auto longest = counts.begin() + static_cast<std::ptrdiff_t>(symbols.size() / 3 + 1);
    for (size_t n = 0; n < kDistances; ++n) {
      const auto most = std::max_element(counts.begin(), longest);
      if (*most == 0) break;
      found.insert(static_cast<size_t>(most - counts.begin()));
      *most = 0;
    }
  }
  return found;
}

// All its runs of three repeats and more.
Period check(std::span<const uint32_t> symbols, size_t length) {
  Period period{length, 0, 0};
  size_t same = 0, longest = 0, covered = 0;
  for (size_t i = length; i <= symbols.size(); ++i) {
    if (i < symbols.size() && symbols[i] == symbols[i - length]) {
      ++same;
      continue;
    }
    if (same >= 2 * length) {
      covered += same + length;
      if (same > longest) period.first = i - same - length;
      longest = std::max(longest, same);
    }
    same = 0;
  }
  period.coverage = static_cast<double>(covered) / static_cast<double>(symbols.size());
  return period;
}

bool is_multiple(std::span<const uint32_t> symbols, const Period& period, const Period& shorter) {
  if (period.length % shorter.length != 0) return false;
  const auto unit = symbols.subspan(period.first, period.length);
  return std::equal(unit.begin() + static_cast<std::ptrdiff_t>(shorter.length), unit.end(), unit.begin());
}

}  // namespace

std::vector<Period> periods_of(std::span<const uint32_t> symbols) {
  const size_t passed = symbols.size() - std::min(symbols.size(), kPeriodWindow);
  const auto latter = symbols.subspan(passed);
  std::vector<Period> periods;
  for (const size_t length : candidates(latter)) {
    const Period period = check(latter, length);
    const auto repeats = [&](const Period& shorter) { return is_multiple(latter, period, shorter); };
    if (period.coverage > 0 && std::none_of(periods.begin(), periods.end(), repeats)) periods.push_back(period);
  }
  for (Period& period : periods) period.first += passed;
  return periods;
}

std::vector<size_t> occurrences(std::span<const uint32_t> symbols, size_t first, size_t length) {
  std::vector<size_t> found;
  if (length == 0 || length > symbols.size()) return found;
  const auto unit = symbols.subspan(first, length);
  const uint64_t wanted = SlidingHash(unit, length).hash();
  SlidingHash piece(symbols, length);
  size_t next = 0;
  do {
    if (piece.at() < next || piece.hash() != wanted) continue;
    if (!std::equal(unit.begin(), unit.end(), symbols.begin() + static_cast<std::ptrdiff_t>(piece.at()))) continue;
    found.push_back(piece.at());
    next = piece.at() + length;
  } while (piece.slide());
  return found;
}

}  // namespace rafter
