#include "rafter/engine/generate.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

const std::vector<int32_t> kPrompt = {3, 1, 4, 1, 5, 9, 2, 6};

struct Model {
  explicit Model(EngineOptions options = {})
      : checkpoint(Checkpoint::random(test::tiny_config(Architecture::qwen2), DType::f32)), engine(checkpoint, options) {}
  Checkpoint checkpoint;
  Engine engine;
};

Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options,
                    const SamplerOptions& sampling = {}, const GenerateHooks& hooks = {}) {
  Sampler sampler(sampling);
  return Generator(engine, nullptr).run(prompt, sampler, options, hooks);
}

std::vector<int32_t> greedy_by_hand(Engine& engine, std::span<const int32_t> prompt, int count) {
  Sampler argmax({});
  std::vector<int32_t> tokens = {argmax.sample(engine.prefill(0, prompt))};
  while (static_cast<int>(tokens.size()) < count) {
    const int32_t last[] = {tokens.back()};
    tokens.push_back(argmax.sample(engine.decode(last)));
  }
  engine.truncate(0, 0);
  return tokens;
}

TEST(Generate, GreedyEqualsDecodingByHand) {
  Model model;
  const std::vector<int32_t> expected = greedy_by_hand(model.engine, kPrompt, 20);
  const Generation made = generate(model.engine, kPrompt, {.max_tokens = 20});
  EXPECT_EQ(made.tokens, expected);
  EXPECT_EQ(made.stats.end, EndReason::max_tokens);
  EXPECT_EQ(made.stats.prompt_tokens, 8);
  EXPECT_EQ(made.stats.generated_tokens, 20);
  EXPECT_EQ(made.stats.decode_steps, 19);
  EXPECT_GT(made.stats.prefill_seconds, 0);
  EXPECT_GT(made.stats.decode_seconds, 0);
  std::string text;
  for (const int32_t token : expected) text += "<" + std::to_string(token) + ">";
  EXPECT_EQ(made.text, text);
}

TEST(Generate, ChunksOfThePromptChangeNothing) {
  Model whole;
  const Generation expected = generate(whole.engine, kPrompt, {.max_tokens = 12});
  for (const int64_t chunk : {1, 3, 7}) {
    Model model({.chunk = chunk});
    EXPECT_EQ(generate(model.engine, kPrompt, {.max_tokens = 12}).tokens, expected.tokens) << chunk;
  }
}

TEST(Generate, SamplingAtANeutralPointEqualsGreedy) {
  Model model;
  SamplerOptions one_left;
  one_left.temperature = 1;
  one_left.top_k = 1;
  EXPECT_EQ(generate(model.engine, kPrompt, {.max_tokens = 15}, one_left).tokens,
            generate(model.engine, kPrompt, {.max_tokens = 15}).tokens);
}

TEST(Generate, SameSeedSameText) {
  Model model;
  const SamplerOptions sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 11};
  const Generation a = generate(model.engine, kPrompt, {.max_tokens = 30}, sampling);
  EXPECT_EQ(a.tokens, generate(model.engine, kPrompt, {.max_tokens = 30}, sampling).tokens);
  SamplerOptions other = sampling;
  other.seed = 12;
  EXPECT_NE(a.tokens, generate(model.engine, kPrompt, {.max_tokens = 30}, other).tokens);
}

TEST(Generate, TheFullContextIsSaid) {
  Model model({.context = 20});
  for (const bool sampled : {false, true}) {
    SamplerOptions sampling;
    sampling.temperature = sampled ? 1 : 0;
    const Generation made = generate(model.engine, kPrompt, {}, sampling);
    EXPECT_EQ(made.stats.end, EndReason::context_full);
    EXPECT_EQ(made.stats.generated_tokens, 13);  // the last one is shown and needs no room
  }
  EXPECT_EQ(generate(model.engine, kPrompt, {.max_tokens = 13}).stats.end, EndReason::max_tokens);
}

TEST(Generate, BadPromptIsRefusedBeforeAnythingIsComputed) {
  Model model({.context = 6});
  test::expect_input_error([&] { generate(model.engine, kPrompt, {}); }, {"8 tokens", "context of 6", "-c"});
  test::expect_input_error([&] { generate(model.engine, {}, {}); }, {"the prompt is empty"});
  test::expect_input_error([&] { generate(model.engine, std::vector<int32_t>{1, 4000}, {}); }, {"4000"});
  test::expect_input_error([&] { generate(model.engine, std::vector<int32_t>{1}, {.max_tokens = -2}); }, {"-n"});
  EXPECT_EQ(model.engine.length(0), 0);
  EXPECT_EQ(generate(model.engine, std::span(kPrompt).first(6), {}).stats.generated_tokens, 1);
}

TEST(Generate, NoTokensAtAll) {
  Model model;
  const Generation made = generate(model.engine, kPrompt, {.max_tokens = 0});
  EXPECT_TRUE(made.tokens.empty());
  EXPECT_EQ(model.engine.length(0), 8);
}

TEST(Generate, AStopStringEndsTheTextBeforeIt) {
  Model model;
  const Generation all = generate(model.engine, kPrompt, {.max_tokens = 12});
  // A stop that reaches over the border of two tokens.
  const std::string middle = "<" + std::to_string(all.tokens[4]) + "><";
  const size_t at = all.text.find(middle);
  const Generation cut = generate(model.engine, kPrompt, {.max_tokens = 12, .stops = {middle}});
  EXPECT_EQ(cut.stats.end, EndReason::stop_string);
  EXPECT_EQ(cut.text, all.text.substr(0, at));
  EXPECT_LT(cut.tokens.size(), all.tokens.size());
}

TEST(Generate, StreamedPiecesAreTheText) {
  Model model;
  std::string streamed;
  int calls = 0;
  GenerateHooks hooks;
  hooks.text = [&](std::string_view piece, const GenerationStats& stats) {
    streamed += piece;
    EXPECT_GE(stats.generated_tokens, ++calls > 12 ? 12 : calls);
  };
  double read = 0;
  hooks.prefill = [&](double fraction) { read = fraction; };
  const Generation made = generate(model.engine, kPrompt, {.max_tokens = 12, .stops = {"<1>never"}}, {}, hooks);
  EXPECT_EQ(streamed, made.text);
  EXPECT_EQ(read, 1);
}

TEST(Generate, CancellingStopsBetweenTokensAndBetweenChunks) {
  Model model({.chunk = 3});
  int tokens = 0, polls = 0;
  GenerateHooks hooks;
  hooks.text = [&](std::string_view, const GenerationStats&) { ++tokens; };
  hooks.cancelled = [&] { return tokens >= 5; };
  const Generation made = generate(model.engine, kPrompt, {}, {}, hooks);
  EXPECT_EQ(made.stats.end, EndReason::cancelled);
  EXPECT_EQ(made.tokens.size(), 5u);

  GenerateHooks early;
  early.cancelled = [&] { return ++polls > 1; };
  const Generation nothing = generate(model.engine, kPrompt, {}, {}, early);
  EXPECT_EQ(nothing.stats.end, EndReason::cancelled);
  EXPECT_TRUE(nothing.tokens.empty());
  EXPECT_EQ(model.engine.length(0), 3);
}

TEST(Generate, ASpeedCountsOnlyTheTokensThatWereRead) {
  Model model({.chunk = 3});
  GenerateHooks hooks;
  int polls = 0;
  hooks.cancelled = [&] { return ++polls > 2; };  // asked before every chunk: two of them are read
  const Generation made = generate(model.engine, kPrompt, {}, {}, hooks);
  EXPECT_EQ(made.stats.end, EndReason::cancelled);
  EXPECT_EQ(made.stats.prompt_tokens, 8);
  EXPECT_EQ(made.stats.read_tokens, 6);
  EXPECT_DOUBLE_EQ(made.stats.prefill_rate(), 6 / made.stats.prefill_seconds);
  EXPECT_EQ(generate(model.engine, kPrompt, {.max_tokens = 1}).stats.read_tokens, 8);
}

TEST(Generate, APromptThatGoesOnIsComputedFromWhereItParts) {
  Model model, fresh;
  Generator generator(model.engine, nullptr);
  Sampler sampler({});
  const Generation first = generator.run(kPrompt, sampler, {.max_tokens = 6});
  EXPECT_EQ(first.stats.cached_tokens, 0);
  EXPECT_EQ(generator.cached().size(), static_cast<size_t>(model.engine.length(0)));

  std::vector<int32_t> longer = kPrompt;
  longer.insert(longer.end(), first.tokens.begin(), first.tokens.end());
  longer.insert(longer.end(), {7, 7, 8});
  const Generation second = generator.run(longer, sampler, {.max_tokens = 10});
  EXPECT_EQ(second.stats.cached_tokens, 13);  // all but the last generated token, which was never fed
  EXPECT_EQ(second.tokens, generate(fresh.engine, longer, {.max_tokens = 10}).tokens);

  std::vector<int32_t> other = kPrompt;
  other[2] = 30;
  const Generation third = generator.run(other, sampler, {.max_tokens = 10});
  EXPECT_EQ(third.stats.cached_tokens, 2);
  EXPECT_EQ(third.tokens, generate(fresh.engine, other, {.max_tokens = 10}).tokens);

  const Generation again = generator.run(other, sampler, {.max_tokens = 10});
  EXPECT_EQ(again.stats.cached_tokens, 7);  // the last token's logits are always computed
  EXPECT_EQ(again.tokens, third.tokens);
  generator.forget();
  EXPECT_EQ(model.engine.length(0), 0);
}

}  // namespace
}  // namespace rafter
