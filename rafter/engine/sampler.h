// From logits to a token: penalty, top-k, top-p, min-p, temperature, in llama.cpp's order and with its meanings.
//
// A vocabulary of 150,000 is never sorted whole: what can be ruled out by one pass is ruled out first, and only as much of
// the rest is put in order as top-p asks for. Same options, same seed, same logits: same tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "rafter/base/random.h"

namespace rafter {

struct SamplerOptions {
  double temperature = 0;      // 0 is greedy: the largest logit
  int64_t top_k = 40;          // keep the k largest; 0 keeps all
  double top_p = 0.95;         // keep the fewest whose probabilities reach p; 1 keeps all
  double min_p = 0.05;         // keep those with at least min_p times the largest probability; 0 keeps all
  double repeat_penalty = 1;   // positive logits of recent tokens are divided by it, negative ones multiplied; 1 is off
  int64_t repeat_last_n = 64;  // how many tokens are recent, the prompt's included; -1 means all
  uint64_t seed = 0;
};

// An input Error that names the flag where a value is out of range, NaN or infinite.
void check(const SamplerOptions& options);

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);  // checks them

  // Whether the choice is the largest logit and nothing else, so that the device can make it.
  bool is_argmax() const { return options_.temperature == 0 && options_.repeat_penalty == 1; }

  // Forgets recent tokens, then takes these as recent. The random stream goes on.
  void start(std::span<const int32_t> tokens);
  void accept(int32_t token);

  // NaN and -inf are never chosen; where there is +inf, one of those is. A runtime Error where no logit can be chosen.
  int32_t sample(std::span<const float> logits);

 private:
  struct Candidate {
    float logit;
    int32_t token;
  };
  void collect(std::span<const float> logits);
  void penalise();
  static Candidate largest_of(std::span<const float> logits);
  double gather_infinite(std::span<const float> logits);
  void gather_largest(std::span<const float> logits, size_t count);
  double gather_above(std::span<const float> logits, float largest, double floor);
  void keep_top_p(double total);
  void order_first(size_t count);
  int32_t draw();

  SamplerOptions options_;
  Random random_;
  std::deque<int32_t> recent_;
  std::unordered_map<int32_t, int64_t> recent_counts_;
  std::vector<Candidate> candidates_;
  std::vector<float> penalised_;
  size_t ordered_ = 0;  // the first so many candidates are in order, and none after them is larger
};

}  // namespace rafter
