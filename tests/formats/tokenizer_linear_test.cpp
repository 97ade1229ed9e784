// Texts made to be slow are not: four times the length takes about four times as long.
#include <gtest/gtest.h>

#include <ctime>

#include "tests/support/tokenizer_files.h"

namespace rafter {
namespace {

std::string repeat(std::string_view part, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

// Processor time, so that a busy machine does not count. The better of two runs.
double seconds(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int run = 0; run < 2; ++run) {
    const std::clock_t start = std::clock();
    const size_t tokens = tokenizer.encode(text, SpecialTokens::parse).size();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    EXPECT_GT(tokens, 0u);
  }
  return best;
}

void expect_linear(const Tokenizer& tokenizer) {
  constexpr std::string_view kParts[] = {
      "a",
      "\n",
      " ",
      " \n",
      "\t \r\n",
      "!",
      "7",
      "'",
      "\xe4\xb8\xad",
      "\xcc\x81\xcc\xa3",  // two marks that normalisation puts in order
      "\xea\xb0\x81",      // a syllable that comes apart and is put together again
      "<|",                // the start of many added tokens
      "\xff",              // never valid
  };
  for (const std::string_view part : kParts) {
    const std::string name = nlohmann::json(std::string(part)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    const double small = seconds(tokenizer, repeat(part, 50'000)), large = seconds(tokenizer, repeat(part, 200'000));
    EXPECT_LT(large, 9 * small + 0.05) << name;  // a quadratic one would take 16 times as long
    EXPECT_LT(small, 3) << name;
    EXPECT_LT(seconds(tokenizer, repeat(part, 50'000) + "x"), 3) << name << " and an x";
  }
}

TEST(TokenizerTime, LinearForQwen) { expect_linear(test::golden_tokenizer("qwen2.5")); }
TEST(TokenizerTime, LinearForLlama3) { expect_linear(test::golden_tokenizer("llama3")); }
TEST(TokenizerTime, LinearForSmollm) { expect_linear(test::golden_tokenizer("smollm")); }

TEST(TokenizerTime, FiftyThousandLettersAndTenThousandBlankLinesAreWhole) {
  const Tokenizer tokenizer = test::golden_tokenizer("qwen2.5");
  for (const auto& [part, times] :
       {std::pair<std::string, size_t>{"a", 50'000}, {"\n", 10'000}, {" \n", 10'000}, {"\r\n", 10'000}}) {
    const std::string text = repeat(part, part.size() * times);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

}  // namespace
}  // namespace rafter
