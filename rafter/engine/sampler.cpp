#include "rafter/engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rafter/base/error.h"

namespace rafter {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = 64;  // logits looked at together

// The largest of a block, NaN passed over; -inf for an empty one. In lanes, so that the compiler makes vectors of it.
float block_max(std::span<const float> block) {
  constexpr size_t kLanes = 16;
  float lanes[kLanes];
  std::fill(std::begin(lanes), std::end(lanes), -kInfinity);
  size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] = block[i + j] > lanes[j] ? block[i + j] : lanes[j];
  }
  for (; i < block.size(); ++i) lanes[0] = block[i] > lanes[0] ? block[i] : lanes[0];
  float largest = -kInfinity;
  for (const float lane : lanes) largest = std::max(largest, lane);
  return largest;
}

void require(bool holds, const char* what, double value, const char* expected) {
  if (!holds) throw input_error({what, fmt::format("{}", value), expected});
}

// Larger first; of equals the lower token first, so that the order is one order.
constexpr auto kBefore = [](const auto& a, const auto& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
};

}  // namespace

void check(const SamplerOptions& options) {
  require(std::isfinite(options.temperature) && options.temperature >= 0, "--temp", options.temperature,
          "a number of 0 or more");
  require(options.top_k >= 0, "--top-k", static_cast<double>(options.top_k), "0 (all) or more");
  require(options.top_p > 0 && options.top_p <= 1, "--top-p", options.top_p, "above 0 and at most 1");
  require(options.min_p >= 0 && options.min_p <= 1, "--min-p", options.min_p, "0 to 1");
  require(std::isfinite(options.repeat_penalty) && options.repeat_penalty > 0, "--repeat-penalty", options.repeat_penalty,
          "a number above 0");
  require(options.repeat_last_n >= -1, "--repeat-last-n", static_cast<double>(options.repeat_last_n),
          "-1 (all), 0 (off) or more");
}

Sampler::Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) { check(options); }

void Sampler::start(std::span<const int32_t> tokens) {
  recent_.clear();
  recent_counts_.clear();
  for (const int32_t token : tokens) accept(token);
}

void Sampler::accept(int32_t token) {
  if (options_.repeat_penalty == 1 || options_.repeat_last_n == 0) return;
  recent_.push_back(token);
  ++recent_counts_[token];
  if (options_.repeat_last_n < 0 || recent_.size() <= static_cast<size_t>(options_.repeat_last_n)) return;
  const auto oldest = recent_counts_.find(recent_.front());
  if (--oldest->second == 0) recent_counts_.erase(oldest);
  recent_.pop_front();
}

int32_t Sampler::sample(std::span<const float> logits) {
  if (!recent_counts_.empty()) {
    penalised_.assign(logits.begin(), logits.end());
    penalise();
    logits = penalised_;
  }
  collect(logits);
  if (options_.temperature == 0) return candidates_[0].token;
  return draw();
}

void Sampler::penalise() {
  const auto penalty = static_cast<float>(options_.repeat_penalty);
  for (const auto& [token, count] : recent_counts_) {
    if (token < 0 || static_cast<size_t>(token) >= penalised_.size()) continue;
    float& logit = penalised_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

// Leaves in candidates_ what top-k, top-p and min-p leave of the vocabulary.
void Sampler::collect(std::span<const float> logits) {
  const Candidate best = largest_of(logits);
  candidates_.assign(1, best);
  if (options_.temperature == 0 || options_.top_k == 1) return;
  candidates_.clear();
  ordered_ = 0;
  // Every cut keeps the largest, so min-p does not mind the order. What top-p sums up is what top-k leaves.
  const double floor = options_.min_p > 0 ? best.logit + std::log(options_.min_p) : -static_cast<double>(kInfinity);
  double total = 0;  // of exp(logit - best)
  if (best.logit == kInfinity) {
    total = gather_infinite(logits);
  } else if (options_.top_k > 0) {
    gather_largest(logits, static_cast<size_t>(options_.top_k));
    for (const Candidate& c : candidates_) total += std::exp(static_cast<double>(c.logit - best.logit));
    while (candidates_.back().logit < floor) candidates_.pop_back();
    ordered_ = candidates_.size();
  } else {
    total = gather_above(logits, best.logit, floor);
  }
  if (options_.top_p < 1) keep_top_p(total);
}

Sampler::Candidate Sampler::largest_of(std::span<const float> logits) {
  const float largest = block_max(logits);
  const auto found = std::find(logits.begin(), logits.end(), largest);
  if (largest == -kInfinity) {
    throw runtime_failure(
        {"every logit of the model", "NaN or -inf", "a number", "the weights are damaged, or overflow in their dtype"});
  }
  return {largest, static_cast<int32_t>(found - logits.begin())};
}

// Those that are +inf, all alike; gives their count.
double Sampler::gather_infinite(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kInfinity) candidates_.push_back({0, static_cast<int32_t>(i)});
  }
  if (options_.top_k > 0) candidates_.resize(std::min(candidates_.size(), static_cast<size_t>(options_.top_k)));
  ordered_ = candidates_.size();
  return static_cast<double>(ordered_);
}

// The `count` largest, in order. What is no larger than the count-th so far is passed over: after a few thousand tokens of
// a vocabulary that is nearly everything.
void Sampler::gather_largest(std::span<const float> logits, size_t count) {
  count = std::min(count, logits.size());
  const size_t room = std::max<size_t>(4 * count, 1024);
  float threshold = -kInfinity;
  const auto cut = [&] {
    if (candidates_.size() <= count) return;
    const auto last = candidates_.begin() + static_cast<ptrdiff_t>(count) - 1;
    std::nth_element(candidates_.begin(), last, candidates_.end(), kBefore);
    threshold = last->logit;
    candidates_.resize(count);
  };
  for (size_t start = 0; start < logits.size(); start += kBlock) {
    const size_t end = std::min(start + kBlock, logits.size());
    if (!(block_max(logits.subspan(start, end - start)) > threshold)) continue;
    for (size_t i = start; i < end; ++i) {
      if (!(logits[i] > threshold)) continue;  // NaN too
      candidates_.push_back({logits[i], static_cast<int32_t>(i)});
      if (candidates_.size() == room) cut();
    }
  }
  cut();
  order_first(count);
}

// All of at least `floor`, in the vocabulary's order; gives the sum of exp(logit - largest) over the whole vocabulary.
double Sampler::gather_above(std::span<const float> logits, float largest, double floor) {
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > -kInfinity)) continue;
    if (options_.top_p < 1) total += std::exp(static_cast<double>(logits[i] - largest));
    if (logits[i] >= floor) candidates_.push_back({logits[i], static_cast<int32_t>(i)});
  }
  return total;
}

// Puts the `count` largest first, in order.
void Sampler::order_first(size_t count) {
  count = std::min(count, candidates_.size());
  if (count <= ordered_) return;
  const auto from = candidates_.begin() + static_cast<ptrdiff_t>(ordered_);
  const auto to = candidates_.begin() + static_cast<ptrdiff_t>(count);
  if (to != candidates_.end()) std::nth_element(from, to, candidates_.end(), kBefore);
  std::sort(from, to, kBefore);
  ordered_ = count;
}

// Cuts after the first candidate at which the sum of probabilities reaches p. Few suffice as a rule, so order grows by
// doubling.
void Sampler::keep_top_p(double total) {
  constexpr size_t kFirst = 128;
  double sum = 0, largest = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i == ordered_) order_first(std::max(kFirst, 2 * ordered_));
    if (i == 0) largest = candidates_[0].logit;
    sum += std::exp(candidates_[i].logit - largest);
    if (sum >= options_.top_p * total) {
      candidates_.resize(i + 1);
      return;
    }
  }
}

// One of the candidates, with probabilities in proportion to exp(logit / temperature).
int32_t Sampler::draw() {
  if (candidates_.size() == 1) return candidates_[0].token;
  float largest = candidates_[0].logit;
  for (const Candidate& c : candidates_) largest = std::max(largest, c.logit);
  const auto weight = [&](const Candidate& c) {
    return std::exp(static_cast<double>(c.logit - largest) / options_.temperature);
  };
  double total = 0;
  for (const Candidate& c : candidates_) total += weight(c);
  const double high = random_.next() >> 5, low = random_.next() >> 6;
  double left = (high * 0x1p26 + low) * 0x1p-53 * total;  // uniform in [0, total)
  int32_t chosen = candidates_[0].token;
  for (const Candidate& c : candidates_) {
    const double w = weight(c);
    if (w > 0) chosen = c.token;  // rounding may leave a rest after the last: then the last possible one is it
    if (left < w) break;
    left -= w;
  }
  return chosen;
}

}  // namespace rafter
