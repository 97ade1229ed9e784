// The tokenizers agree with Hugging Face's on every text of the corpus, from tokenizer.json and from GGUF.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "tests/support/sanitized.h"
#include "tests/support/tokenizer_files.h"

namespace rafter {
namespace {

using Ids = std::vector<int32_t>;

// A text's ids as Hugging Face has them: with added tokens read, where the golden file says that it matters.
void expect_golden(const Tokenizer& tokenizer, const std::string& name) {
  const nlohmann::json corpus = test::golden_json("corpus.json"), golden = test::golden_json(name + ".ids.json");
  ASSERT_EQ(golden.at("text").size(), corpus.size());
  ASSERT_GE(golden.at("parse").size(), 15u);
  for (size_t i = 0; i < corpus.size(); ++i) {
    const std::string text = corpus[i];
    const auto plain = golden.at("text")[i].get<Ids>();
    EXPECT_EQ(tokenizer.encode(text), plain) << name << ", text " << i << ": " << corpus[i];
    const nlohmann::json& parsed = golden.at("parse");
    const auto different = parsed.find(std::to_string(i));
    EXPECT_EQ(tokenizer.encode(text, SpecialTokens::parse), different == parsed.end() ? plain : different->get<Ids>())
        << name << ", text " << i << " with added tokens read: " << corpus[i];
  }
}

std::string alphanumeric(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

class GoldenJson : public testing::TestWithParam<const char*> {};
TEST_P(GoldenJson, EqualsHuggingFace) { expect_golden(test::golden_tokenizer(GetParam()), GetParam()); }
INSTANTIATE_TEST_SUITE_P(Tokenizer, GoldenJson, testing::Values("gpt2", "llama3", "smollm", "qwen2.5", "qwen3"),
                         [](const auto& info) { return alphanumeric(info.param); });

struct GgufCase {
  const char *name, *pre;
  friend void PrintTo(const GgufCase& one, std::ostream* out) { *out << one.name << " as " << one.pre; }
};
class GoldenGguf : public testing::TestWithParam<GgufCase> {};
TEST_P(GoldenGguf, EqualsHuggingFace) {
  const test::Bytes bytes = test::golden_tokenizer_gguf(GetParam().name, GetParam().pre);
  const GgufFile file(bytes, "model.gguf");
  expect_golden(Tokenizer::from_gguf(file), GetParam().name);
}
INSTANTIATE_TEST_SUITE_P(Tokenizer, GoldenGguf,
                         testing::Values(GgufCase{"gpt2", "gpt-2"}, GgufCase{"gpt2", "default"},
                                         GgufCase{"llama3", "llama-bpe"}, GgufCase{"llama3", "llama3"},
                                         GgufCase{"llama3", "llama-v3"}, GgufCase{"smollm", "smollm"},
                                         GgufCase{"qwen2.5", "qwen2"}),
                         [](const auto& info) { return alphanumeric(std::string(info.param.name) + "_as_" + info.param.pre); });

TEST(TokenizerGolden, MergesAsPairs) { expect_golden(Tokenizer::from_json(test::golden_tokenizer_json("gpt2", true)), "gpt2"); }

TEST(TokenizerGolden, Smollm2FromItsModelFile) {
  const auto path = test::smollm2_path();
  if (!path) GTEST_SKIP() << "SmolLM2 is not in ~/.cache/rafter/models: scripts/demo fetches it";
  const GgufFile file(*path);
  const Tokenizer tokenizer = Tokenizer::from_gguf(file);
  expect_golden(tokenizer, "smollm2");
  EXPECT_EQ(tokenizer.size(), 49152);
  EXPECT_EQ(tokenizer.stops(), (Ids{0, 2}));  // <|endoftext|>, <|im_end|>
  EXPECT_FALSE(tokenizer.adds_bos());
}

TEST(TokenizerGolden, LoadsQuickly) {
  const test::Bytes bytes = test::golden_tokenizer_gguf("qwen2.5", "qwen2");
  const GgufFile file(bytes, "model.gguf");
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();  // processor time: other work on the machine does not count
    EXPECT_EQ(Tokenizer::from_gguf(file).size(), 151665);
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  RecordProperty("seconds", std::to_string(best));
#if defined(NDEBUG)
  constexpr bool kOptimised = !test::kSanitized;
#else
  constexpr bool kOptimised = false;
#endif
  EXPECT_LT(best, kOptimised ? 0.15 : 5);  // 0.06 s on a quiet core
}

}  // namespace
}  // namespace rafter
