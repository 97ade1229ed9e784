// SmolLM2-135M-Instruct, a real model in Q4_1, against llama.cpp on the same file, and against itself: the CPU, the GPU and
// every way of feeding a prompt must agree. tests/golden/llamacpp/README.md says what the golden files hold and how close
// is close: rounding activations to 8 bits makes llama.cpp differ from its own f32 run by a mean divergence of 3e-3.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rafter/base/mapped_file.h"
#include "rafter/engine/engine.h"

namespace rafter {
namespace {

const std::string kGolden = std::string(RAFTER_SOURCE_DIR) + "/tests/golden/llamacpp/";
constexpr int kBest = 64;

std::string model_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  return std::string(cache != nullptr  ? cache
                     : home != nullptr ? std::string(home) + "/.cache"
                                       : "") +
         "/rafter/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

nlohmann::json read_json(const std::string& file) { return nlohmann::json::parse(read_text_file(kGolden + file, 1 << 24)); }

// llama.cpp's 64 best at one position.
struct Best {
  float logsumexp;
  uint32_t id[kBest];
  float logit[kBest];
  float margin() const { return logit[0] - logit[1]; }
};
static_assert(sizeof(Best) == 4 + 8 * kBest);

std::vector<std::vector<Best>> read_logits(const std::string& file) {
  const MappedFile mapped(kGolden + file);
  const std::byte* at = mapped.bytes().data() + 4;
  const auto take = [&at](void* target, size_t bytes) {
    std::memcpy(target, at, bytes);
    at += bytes;
  };
  uint32_t prompts = 0, best = 0, vocab = 0, positions = 0;
  take(&prompts, 4);
  take(&best, 4);
  take(&vocab, 4);
  EXPECT_EQ(best, static_cast<uint32_t>(kBest));
  std::vector<std::vector<Best>> all(prompts);
  for (auto& prompt : all) {
    take(&positions, 4);
    prompt.resize(positions);
    take(prompt.data(), positions * sizeof(Best));
  }
  return all;
}

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return top + std::log(sum);
}

// KL(llama.cpp || ours), all outside the 64 best as one bucket.
double divergence(const Best& theirs, std::span<const float> ours) {
  const double total = log_sum_exp(ours);
  double sum = 0, p_rest = 1, q_rest = 1;
  for (int j = 0; j < kBest; ++j) {
    const double log_p = static_cast<double>(theirs.logit[j]) - static_cast<double>(theirs.logsumexp),
                 log_q = ours[theirs.id[j]] - total;
    sum += std::exp(log_p) * (log_p - log_q);
    p_rest -= std::exp(log_p);
    q_rest -= std::exp(log_q);
  }
  return p_rest <= 0 ? sum : sum + p_rest * std::log(p_rest / std::max(q_rest, 1e-9));
}

uint32_t best(std::span<const float> logits) {
  return static_cast<uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class SmolLM2 : public ::testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (GetParam() == DeviceKind::cuda && cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    if (!std::filesystem::exists(model_path())) GTEST_SKIP() << model_path() << " is not there: scripts/fetch-model brings it";
    checkpoint_ = std::make_unique<Checkpoint>(Checkpoint::open(model_path()));
  }

  std::unique_ptr<Engine> engine(DeviceKind kind, int64_t chunk = 512) const {
    EngineOptions options;
    options.device = {kind, 0};
    options.context = 1024;
    options.chunk = chunk;
    return std::make_unique<Engine>(*checkpoint_, options);
  }

  enum class Feed { whole, sevens, one_by_one };

  // 64 greedy tokens after a prompt.
  static std::vector<int32_t> greedy(Engine& engine, const std::vector<int32_t>& prompt, Feed feed) {
    engine.truncate(0, 0);
    std::vector<int32_t> tokens;
    if (feed == Feed::one_by_one) {
      std::span<const float> logits;
      for (const int32_t id : prompt) logits = engine.decode(std::span(&id, 1));
      tokens.push_back(static_cast<int32_t>(best(logits)));
    } else {
      tokens.push_back(static_cast<int32_t>(best(engine.prefill(0, prompt))));
    }
    engine.greedy_start(tokens);
    while (tokens.size() < 64) {
      engine.greedy_step();
      tokens.push_back(engine.greedy_take()[0]);
    }
    return tokens;
  }

  std::unique_ptr<Checkpoint> checkpoint_;
};

TEST_P(SmolLM2, LogitsAgreeWithLlamaCpp) {
  const auto engine = this->engine(GetParam());
  const auto vocab = static_cast<size_t>(engine->config().vocab);
  const auto golden = read_json("prompts.json");
  const auto as_is = read_logits("logits.bin"), exact = read_logits("logits_f32.bin");
  double sum_as_is = 0, sum_exact = 0;
  size_t positions = 0, clear = 0;
  for (size_t p = 0; p < as_is.size(); ++p) {
    const auto& prompt = golden.at("prompts")[p];
    engine->truncate(0, 0);
    const auto logits = engine->prefill(0, prompt.at("tokens").get<std::vector<int32_t>>(), LogitRows::all);
    ASSERT_EQ(logits.size(), as_is[p].size() * vocab);
    for (size_t i = 0; i < as_is[p].size(); ++i, ++positions) {
      const auto row = std::span(logits).subspan(i * vocab, vocab);
      sum_as_is += divergence(as_is[p][i], row);
      sum_exact += divergence(exact[p][i], row);
      // Where llama.cpp's 8-bit run and its f32 run name different tokens, neither is a truth to hold anyone to.
      if (as_is[p][i].margin() <= 0.3f || as_is[p][i].id[0] != exact[p][i].id[0]) continue;
      ++clear;
      EXPECT_EQ(best(row), as_is[p][i].id[0]) << prompt.at("name") << ", position " << i << ", margin " << as_is[p][i].margin();
    }
  }
  EXPECT_EQ(positions, 641u);
  EXPECT_GT(clear, positions / 2);
  const double mean_as_is = sum_as_is / static_cast<double>(positions), mean_exact = sum_exact / static_cast<double>(positions);
  RecordProperty("mean_divergence", std::to_string(mean_as_is));
  std::printf("mean KL to llama.cpp %.2e, to its f32 run %.2e\n", mean_as_is, mean_exact);
  EXPECT_LT(mean_as_is, 0.01);
  EXPECT_LT(mean_exact, 0.01);
}

TEST_P(SmolLM2, PerplexityOfAliceAgreesWithLlamaCpp) {
  const auto engine = this->engine(GetParam());
  const auto vocab = static_cast<size_t>(engine->config().vocab);
  const auto golden = read_json("text.json");
  const auto tokens = golden.at("tokens").get<std::vector<int32_t>>();
  const auto logits = engine->prefill(0, tokens, LogitRows::all);
  double nll = 0;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const auto row = std::span(logits).subspan(i * vocab, vocab);
    nll += log_sum_exp(row) - row[static_cast<size_t>(tokens[i + 1])];
  }
  const double perplexity = std::exp(nll / static_cast<double>(tokens.size() - 1)), theirs = golden.at("perplexity");
  std::printf("perplexity %.4f, llama.cpp %.4f\n", perplexity, theirs);
  EXPECT_NEAR(perplexity, theirs, 0.005 * theirs);
}

TEST_P(SmolLM2, GreedyTextIsTheSameOnEveryDeviceHoweverThePromptIsFed) {
  const auto cpu = engine(DeviceKind::cpu);
  const auto whole = engine(GetParam()), sevens = engine(GetParam(), 7);
  const Tokenizer tokenizer = checkpoint_->tokenizer();
  const auto golden = read_json("prompts.json");
  int compared = 0;
  for (const auto& prompt : golden.at("prompts")) {
    const auto tokens = prompt.at("tokens").get<std::vector<int32_t>>();
    const std::string text = tokenizer.decode(greedy(*cpu, tokens, Feed::whole));
    const auto name = prompt.at("name").get<std::string>();
    EXPECT_EQ(tokenizer.decode(greedy(*whole, tokens, Feed::whole)), text) << name << ", whole";
    EXPECT_EQ(tokenizer.decode(greedy(*sevens, tokens, Feed::sevens)), text) << name << ", chunks of 7";
    EXPECT_EQ(tokenizer.decode(greedy(*whole, tokens, Feed::one_by_one)), text) << name << ", token by token";
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

TEST_P(SmolLM2, TokenizesThePromptsAsLlamaCppDoes) {
  const Tokenizer tokenizer = checkpoint_->tokenizer();
  const auto golden = read_json("prompts.json");
  ASSERT_EQ(golden.at("prompts").size(), 10u);
  for (const auto& prompt : golden.at("prompts")) {
    EXPECT_EQ(tokenizer.encode(prompt.at("text").get<std::string>(), SpecialTokens::parse),
              prompt.at("tokens").get<std::vector<int32_t>>());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SmolLM2, ::testing::Values(DeviceKind::cpu, DeviceKind::cuda),
                         [](const auto& info) { return info.param == DeviceKind::cpu ? "cpu" : "cuda"; });

}  // namespace
}  // namespace rafter
