// Cuts text into the words that byte-pair encoding works on, as the patterns of GPT-2, Llama 3, Qwen and SmolLM do.
//
// The published patterns are written for a backtracking engine. Ours are the same languages with possessive repeats, so
// that no input makes matching more than linear, and with the character classes spelled out where engines disagree: \s is
// Unicode's White_Space, and \p{L} and \p{N} are those of Unicode 16 (which Hugging Face's engine has) even where the
// system's PCRE2 is as old as Unicode 14.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rafter {

enum class Split {
  gpt2,    // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  llama3,  // letters with any one character before them, up to three digits, line ends with the space before them
  qwen2,   // the same with single digits
  digits,  // each digit on its own, everything else untouched: what SmolLM does before gpt2
};

// The split whose published pattern has exactly this text.
std::optional<Split> split_with_pattern(std::string_view regex);

class Pretokenizer {
 public:
  struct Limits {
    uint32_t matches = 10'000'000;     // PCRE2's match limit, for one word
    uint32_t depth = 10'000;           // and its backtracking depth
    uint32_t heap_kib = 20'000;        // and its heap
    bool jit = true;                   // compiled patterns where PCRE2 has them for this processor
    uint32_t slice_bytes = 64 * 1024;  // see split()
  };

  // The splits are applied in order, each to the pieces of the one before.
  explicit Pretokenizer(std::span<const Split> splits) : Pretokenizer(splits, Limits{}) {}
  Pretokenizer(std::span<const Split> splits, const Limits& limits);
  ~Pretokenizer();
  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;

  // The words of a valid UTF-8 text, in order; together they are the text. Safe to call from several threads.
  // The patterns do not reach PCRE2's limits. Should one word do so all the same, only the next `slice_bytes` are matched
  // for it, which may end it early; nothing is lost.
  void split(std::string_view text, std::vector<std::string_view>& words) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rafter
