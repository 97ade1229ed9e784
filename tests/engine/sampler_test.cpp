#include "rafter/engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tests/support/errors.h"

namespace rafter {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Everything kept, at temperature 1: what a test does not set does nothing.
SamplerOptions open_options(uint64_t seed = 1) {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .repeat_penalty = 1, .repeat_last_n = 64, .seed = seed};
}

std::map<int32_t, int> histogram(Sampler& sampler, const std::vector<float>& logits, int draws) {
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.sample(logits)];
  return counts;
}

std::vector<int32_t> chosen(const SamplerOptions& options, const std::vector<float>& logits, int draws = 2000) {
  Sampler sampler(options);
  std::vector<int32_t> tokens;
  for (const auto& [token, count] : histogram(sampler, logits, draws)) tokens.push_back(token);
  return tokens;
}

std::vector<float> log_of(std::vector<float> probabilities) {
  for (float& p : probabilities) p = std::log(p);
  return probabilities;
}

std::vector<float> random_logits(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = 3 * random.normal();
  return logits;
}

// Which tokens may be chosen, by the definitions and with everything sorted: top-k, then top-p, then min-p.
std::vector<int32_t> allowed(const SamplerOptions& options, const std::vector<float>& logits) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (options.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  double total = 0, sum = 0;
  for (const int32_t token : order) total += std::exp(static_cast<double>(logits[token]) - logits[order[0]]);
  size_t kept = 0;
  while (kept < order.size() && (kept == 0 || sum < options.top_p * total)) {
    sum += std::exp(static_cast<double>(logits[order[kept++]]) - logits[order[0]]);
  }
  order.resize(kept);
  std::erase_if(order, [&](int32_t t) { return std::exp(static_cast<double>(logits[t]) - logits[order[0]]) < options.min_p; });
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Sampler, GreedyTakesTheLargestAndOfEqualsTheFirst) {
  Sampler sampler({});
  EXPECT_TRUE(sampler.is_argmax());
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, 5, 5, 2}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{-3}), 0);
}

TEST(Sampler, ProbabilitiesAreThoseOfSoftmax) {
  Sampler sampler(open_options());
  const std::vector<float> p = {0.5f, 0.25f, 0.15f, 0.1f};
  const int draws = 100000;
  auto counts = histogram(sampler, log_of(p), draws);
  for (size_t i = 0; i < p.size(); ++i) {
    const double sigma = std::sqrt(p[i] * (1 - p[i]) * draws);
    EXPECT_NEAR(counts[static_cast<int32_t>(i)], p[i] * draws, 5 * sigma);
  }
}

TEST(Sampler, TemperatureSharpensAndFlattens) {
  SamplerOptions options = open_options();
  options.temperature = 0.5;  // squares probabilities: 0.8 and 0.2 become 16/17 and 1/17
  Sampler cold(options);
  EXPECT_NEAR(histogram(cold, log_of({0.8f, 0.2f}), 20000)[1], 20000.0 / 17, 250);
  options.temperature = 1e9;
  Sampler hot(options);
  EXPECT_NEAR(histogram(hot, log_of({0.99f, 0.01f}), 20000)[1], 10000, 400);
  options.temperature = 1e-300;
  EXPECT_EQ(chosen(options, {1, 2, 1.9999f}), std::vector<int32_t>{1});
}

TEST(Sampler, KeepsExactlyWhatTheDefinitionsKeep) {
  for (const int64_t top_k : {0, 1, 2, 7, 40, 1000}) {
    for (const double top_p : {0.1, 0.5, 0.9, 1.0}) {
      for (const double min_p : {0.0, 0.05, 0.5, 1.0}) {
        SamplerOptions options = open_options();
        options.top_k = top_k;
        options.top_p = top_p;
        options.min_p = min_p;
        options.temperature = 50;  // nearly even among what is left, so that few draws show all of it
        const std::vector<float> logits = random_logits(static_cast<uint64_t>(top_k) + 3, 60);
        EXPECT_EQ(chosen(options, logits, 3000), allowed(options, logits)) << top_k << ' ' << top_p << ' ' << min_p;
      }
    }
  }
}

// More candidates than the first piece that is put in order.
TEST(Sampler, TopPReachesFarIntoALargeVocabulary) {
  SamplerOptions options = open_options();
  options.top_p = 0.9;
  options.temperature = 1000;
  std::vector<float> logits = random_logits(5, 600);
  for (float& logit : logits) logit *= 0.01f;
  const std::vector<int32_t> expected = allowed(options, logits);
  ASSERT_GT(expected.size(), 400u);
  const std::vector<int32_t> got = chosen(options, logits, 9000);
  EXPECT_TRUE(std::includes(expected.begin(), expected.end(), got.begin(), got.end()));
  EXPECT_EQ(got.size(), expected.size());
}

TEST(Sampler, SameSeedSameTokens) {
  SamplerOptions options = open_options(7);
  options.top_p = 0.9;
  options.top_k = 40;
  Sampler a(options), b(options);
  options.seed = 8;
  Sampler c(options);
  int different = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const std::vector<float> logits = random_logits(i, 500);
    const int32_t token = a.sample(logits);
    EXPECT_EQ(token, b.sample(logits));
    different += token != c.sample(logits) ? 1 : 0;
  }
  EXPECT_GT(different, 20);
}

TEST(Sampler, PenaltyDividesPositiveAndMultipliesNegative) {
  SamplerOptions options;
  options.repeat_penalty = 2;
  Sampler sampler(options);
  EXPECT_FALSE(sampler.is_argmax());
  const std::vector<int32_t> prompt = {0, 0, 3};  // repeated: penalised once
  sampler.start(prompt);
  EXPECT_EQ(sampler.sample(std::vector<float>{4, 2.1f, 1, 1}), 1);      // 4 / 2 is less than 2.1
  EXPECT_EQ(sampler.sample(std::vector<float>{4, 1.9f, 1, 1}), 0);      // and more than 1.9
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -1.9f, -3, -1}), 1);  // -1 * 2
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -2.1f, -3, -1.5f}), 0);
}

TEST(Sampler, PenaltyForgetsWhatIsNoLongerRecent) {
  SamplerOptions options;
  options.repeat_penalty = 10;
  options.repeat_last_n = 2;
  Sampler sampler(options);
  sampler.start(std::vector<int32_t>{0, 1});
  const std::vector<float> logits = {3, 2, 1};
  EXPECT_EQ(sampler.sample(logits), 2);
  sampler.accept(2);  // 0 falls out
  EXPECT_EQ(sampler.sample(logits), 0);
  sampler.start({});
  EXPECT_EQ(sampler.sample(logits), 0);
  options.repeat_last_n = -1;
  Sampler all(options);
  all.start(std::vector<int32_t>{0, 1, 1, 1, 1, 1});
  EXPECT_EQ(all.sample(logits), 2);
  options.repeat_last_n = 0;
  Sampler off(options);
  off.start(std::vector<int32_t>{0, 1});
  EXPECT_EQ(off.sample(logits), 0);
}

TEST(Sampler, PassesOverNanAndMinusInfinity) {
  const std::vector<float> logits = {kNan, 1, -kInfinity, 2, kNan};
  for (const double temperature : {0.0, 1.0}) {
    for (const int64_t top_k : {0, 3}) {
      for (const double top_p : {0.999, 1.0}) {
        SamplerOptions options = open_options();
        options.temperature = temperature;
        options.top_k = top_k;
        options.top_p = top_p;
        for (const int32_t token : chosen(options, logits, 200)) EXPECT_TRUE(token == 1 || token == 3) << token;
      }
    }
  }
}

TEST(Sampler, OfInfiniteLogitsOneIsChosen) {
  const std::vector<float> logits = {1, kInfinity, kNan, kInfinity, 5};
  EXPECT_EQ(Sampler({}).sample(logits), 1);
  for (const int64_t top_k : {0, 40}) {
    for (const double top_p : {0.95, 1.0}) {
      for (const double min_p : {0.0, 0.05}) {
        SamplerOptions options = open_options();
        options.top_k = top_k;
        options.top_p = top_p;
        options.min_p = min_p;
        EXPECT_EQ(chosen(options, logits, 200), (std::vector<int32_t>{1, 3})) << top_k << ' ' << top_p << ' ' << min_p;
      }
    }
  }
}

TEST(Sampler, NoNumberAtAllIsAFailureOfTheRun) {
  for (const double temperature : {0.0, 1.0}) {
    SamplerOptions options = open_options();
    options.temperature = temperature;
    Sampler sampler(options);
    for (const float value : {kNan, -kInfinity}) {
      try {
        sampler.sample(std::vector<float>(8, value));
        ADD_FAILURE() << "no error for " << value;
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::runtime);
      }
    }
  }
}

TEST(Sampler, BadOptionsNameTheirFlag) {
  const auto bad = [](auto change, const char* flag) {
    SamplerOptions options;
    change(options);
    test::expect_input_error([&] { Sampler sampler(options); }, {flag});
  };
  for (const double p : {0.0, -0.1, 1.5, static_cast<double>(kNan), static_cast<double>(kInfinity)}) {
    bad([&](SamplerOptions& o) { o.top_p = p; }, "--top-p");
  }
  for (const double t : {-1.0, static_cast<double>(kNan), static_cast<double>(kInfinity)}) {
    bad([&](SamplerOptions& o) { o.temperature = t; }, "--temp");
  }
  for (const double p : {-0.1, 1.1, static_cast<double>(kNan)}) bad([&](SamplerOptions& o) { o.min_p = p; }, "--min-p");
  for (const double r : {0.0, -1.0, static_cast<double>(kNan)})
    bad([&](SamplerOptions& o) { o.repeat_penalty = r; }, "--repeat-penalty");
  bad([](SamplerOptions& o) { o.top_k = -1; }, "--top-k");
  bad([](SamplerOptions& o) { o.repeat_last_n = -2; }, "--repeat-last-n");
}

}  // namespace
}  // namespace rafter
