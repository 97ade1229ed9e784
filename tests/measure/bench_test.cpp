#include "rafter/measure/bench.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rafter/measure/workload.h"
#include "tests/support/errors.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

struct Model {
  explicit Model(const EngineOptions& options)
      : checkpoint(Checkpoint::random(test::tiny_config(Architecture::llama), DType::f32)), engine(checkpoint, options) {}
  Checkpoint checkpoint;
  Engine engine;
};

TEST(Workload, TokensAreMixedAndInRange) {
  Model model({.context = 64});
  Workload workload(model.engine);
  const std::vector<int32_t> tokens = workload.tokens(200);
  const auto [low, high] = std::minmax_element(tokens.begin(), tokens.end());
  EXPECT_GE(*low, 0);
  EXPECT_LT(*high, model.engine.config().vocab);
  EXPECT_GT(*high - *low, 20);
}

TEST(Workload, FillsEverySequenceToTheDepth) {
  Model model({.context = 64, .batch = 3, .chunk = 10});
  Workload workload(model.engine);
  for (const int64_t depth : {25, 7, 30, 0}) {
    workload.fill(depth);
    for (int64_t s = 0; s < 3; ++s) EXPECT_EQ(model.engine.length(s), depth);
  }
}

TEST(Bench, NamesAreLlamaBenchs) {
  EXPECT_EQ(name(BenchTest{BenchKind::prefill, 512, 0}), "pp512");
  EXPECT_EQ(name(BenchTest{BenchKind::decode, 128, 4096}), "tg128 @ d4096");
}

TEST(Bench, EveryRepetitionIsASampleAndTheWarmUpIsNot) {
  Model model({.context = 64, .chunk = 8});
  std::vector<double> told;
  std::vector<std::string> stages;
  const BenchResult prefill =
      run_bench(model.engine, {BenchKind::prefill, 20, 5}, 3, [&](double fraction, const std::string& what) {
        told.push_back(fraction);
        if (stages.empty() || stages.back() != what) stages.push_back(what);
      });
  EXPECT_EQ(prefill.seconds.size(), 3u);
  // Filling and the warm-up are told of too, and so is each chunk: nobody waits for minutes without a sign of life.
  EXPECT_EQ(stages, (std::vector<std::string>{"filling the cache", "warming up", "repetition 1 of 3", "repetition 2 of 3",
                                              "repetition 3 of 3"}));
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_GE(told.size(), 1u + 4u * 3u);
  EXPECT_LE(told.back(), 1);
  EXPECT_GT(*std::min_element(prefill.seconds.begin(), prefill.seconds.end()), 0);
  EXPECT_EQ(prefill.tokens(), 20);
  EXPECT_EQ(model.engine.length(0), 25);
  const BenchResult decode = run_bench(model.engine, {BenchKind::decode, 10, 30}, 2);
  EXPECT_EQ(decode.seconds.size(), 2u);
  EXPECT_EQ(decode.steps(), 10);
  EXPECT_EQ(model.engine.length(0), 40);
}

TEST(Bench, CostsGrowWithDepthAndCountEveryStep) {
  Model model({.context = 64, .chunk = 8});
  const BenchResult shallow = run_bench(model.engine, {BenchKind::decode, 4, 0}, 1);
  const BenchResult deep = run_bench(model.engine, {BenchKind::decode, 4, 50}, 1);
  const Plan& plan = model.engine.decode_program(true).plan();
  double expected = 0;
  for (int64_t context = 0; context < 4; ++context) expected += plan_cost(plan, {context}).flops();
  EXPECT_DOUBLE_EQ(shallow.cost.flops(), expected);
  // 50 more keys: 4 FLOP for each of q_width values, in each layer and step.
  const ModelConfig& c = model.engine.config();
  EXPECT_DOUBLE_EQ(deep.cost.flops() - shallow.cost.flops(), static_cast<double>(4 * 50 * 4 * c.q_width() * c.layers));
  EXPECT_GT(deep.cost.bytes(), shallow.cost.bytes());
}

TEST(Bench, BatchesCountEverySequencesTokens) {
  Model model({.context = 32, .batch = 2});
  const BenchResult decode = run_bench(model.engine, {BenchKind::decode, 6, 9}, 2);
  EXPECT_EQ(decode.batch, 2);
  EXPECT_EQ(decode.tokens(), 12);
  EXPECT_EQ(model.engine.length(1), 15);
  EXPECT_EQ(run_bench(model.engine, {BenchKind::prefill, 6, 9}, 1).batch, 1);
}

TEST(Bench, ATestBeyondTheContextIsRefused) {
  Model model({.context = 32});
  test::expect_input_error([&] { run_bench(model.engine, {BenchKind::decode, 10, 30}, 1); }, {"tg10 @ d30", "40 tokens", "32"});
}

}  // namespace
}  // namespace rafter
