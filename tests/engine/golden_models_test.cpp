// Tiny models of every architecture against the transformers library: logits at every position of prompts of 1 to 50
// tokens, and 24 greedy tokens, prefilled whole, in chunks of 7 and token by token, on every device that is there.
// tests/golden/models/README.md says how the values were made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rafter/engine/engine.h"

namespace rafter {
namespace {

const std::string kFolder = std::string(RAFTER_SOURCE_DIR) + "/tests/golden/models/";

struct Prompt {
  std::vector<int32_t> ids, greedy;
  std::vector<float> logits;  // [ids, vocab]
};

std::vector<Prompt> read_prompts(const std::string& model) {
  std::ifstream json_file(kFolder + model + "/golden.json");
  const auto golden = nlohmann::json::parse(json_file);
  std::ifstream logits_file(kFolder + model + "/logits.bin", std::ios::binary);
  std::vector<Prompt> prompts;
  for (const auto& entry : golden.at("prompts")) {
    Prompt prompt;
    prompt.ids = entry.at("ids").get<std::vector<int32_t>>();
    prompt.greedy = entry.at("greedy").get<std::vector<int32_t>>();
    prompt.logits.resize(prompt.ids.size() * golden.at("vocab").get<size_t>());
    logits_file.seekg(entry.at("logits_offset").get<std::streamoff>() * 4);
    logits_file.read(reinterpret_cast<char*>(prompt.logits.data()), static_cast<std::streamsize>(prompt.logits.size() * 4));
    EXPECT_TRUE(logits_file.good()) << model;
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// The largest error of any position, against the largest logit of that position.
double worst_error(std::span<const float> got, std::span<const float> expected, size_t vocab) {
  EXPECT_EQ(got.size(), expected.size());
  double worst = 0;
  for (size_t row = 0; row + vocab <= std::min(got.size(), expected.size()); row += vocab) {
    double error = 0, size = 0;
    for (size_t i = row; i < row + vocab; ++i) {
      if (std::isnan(got[i])) return INFINITY;
      error = std::max(error, std::fabs(static_cast<double>(got[i]) - expected[i]));
      size = std::max(size, std::fabs(static_cast<double>(expected[i])));
    }
    worst = std::max(worst, error / size);
  }
  return worst;
}

int32_t best(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class GoldenModel : public ::testing::TestWithParam<std::tuple<std::string, DeviceKind>> {
 protected:
  void SetUp() override {
    if (kind() == DeviceKind::cuda && cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  }
  static std::string model() { return std::get<0>(GetParam()); }
  static DeviceKind kind() { return std::get<1>(GetParam()); }

  // A 16-bit model keeps its keys and values in 16 bits even where it computes in f32.
  static double tolerance(const Engine& engine) { return engine.cache().dtype() == DType::f32 ? 1e-4 : 2e-2; }

  // All logits of a prompt, fed in pieces of `piece` tokens (the chunk option decides), or by decode steps.
  static std::vector<float> run(Engine& engine, const Prompt& prompt, bool by_decode) {
    engine.truncate(0, 0);
    if (!by_decode) return engine.prefill(0, prompt.ids, LogitRows::all);
    std::vector<float> all;
    for (const int32_t id : prompt.ids) {
      const auto logits = engine.decode(std::span(&id, 1));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }
};

TEST_P(GoldenModel, LogitsAgreeHoweverThePromptIsFed) {
  const Checkpoint checkpoint = Checkpoint::open(kFolder + model());
  const auto vocab = static_cast<size_t>(checkpoint.config().vocab);
  for (const int64_t chunk : {64, 7, 1}) {
    for (const bool fuse : {true, false}) {
      EngineOptions options;
      options.device = {kind(), 0};
      options.chunk = chunk;
      options.fuse = fuse;
      Engine engine(checkpoint, options);
      for (const Prompt& prompt : read_prompts(model())) {
        const auto logits = run(engine, prompt, chunk == 1);
        EXPECT_LT(worst_error(logits, prompt.logits, vocab), tolerance(engine))
            << prompt.ids.size() << " tokens, chunk " << chunk << (fuse ? "" : ", not fused");
      }
    }
  }
}

// The same bits, not merely the same numbers: on the CPU a token's row must not depend on the rows beside it.
TEST_P(GoldenModel, ChunksDoNotChangeABitOnTheCpu) {
  if (kind() != DeviceKind::cpu) GTEST_SKIP() << "GPU kernels of different sizes may add in different orders";
  const Checkpoint checkpoint = Checkpoint::open(kFolder + model());
  const Prompt prompt = read_prompts(model()).back();
  std::vector<std::vector<float>> results;
  for (const int64_t chunk : {64, 7, 1}) {
    EngineOptions options;
    options.chunk = chunk;
    Engine engine(checkpoint, options);
    results.push_back(run(engine, prompt, chunk == 1));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_P(GoldenModel, GreedyTokensAreEqual) {
  const Checkpoint checkpoint = Checkpoint::open(kFolder + model());
  for (const ExecutorKind executor : {ExecutorKind::graph, ExecutorKind::eager}) {
    EngineOptions options;
    options.device = {kind(), 0};
    options.executor = executor;
    Engine engine(checkpoint, options);
    for (const Prompt& prompt : read_prompts(model())) {
      engine.truncate(0, 0);
      std::vector<int32_t> tokens = {best(engine.prefill(0, prompt.ids))};
      engine.greedy_start(tokens);
      while (tokens.size() < prompt.greedy.size()) {
        engine.greedy_step();
        tokens.push_back(engine.greedy_take()[0]);
      }
      EXPECT_EQ(tokens, prompt.greedy) << prompt.ids.size() << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenModel,
                         ::testing::Combine(::testing::Values("llama-f32", "llama-tied-rope3-f32", "llama-rope3-bf16",
                                                              "qwen2-tied-f32", "qwen2-bf16", "qwen3-sharded-f32",
                                                              "qwen3-tied-f16"),
                                            ::testing::Values(DeviceKind::cpu, DeviceKind::cuda)),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + (std::get<1>(info.param) == DeviceKind::cpu ? "_cpu" : "_cuda");
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rafter
