// The patterns, piece by piece, and that they hold in every mode of PCRE2.
#include <gtest/gtest.h>

#include "rafter/base/random.h"
#include "rafter/formats/pretokenizer.h"
#include "tests/support/tokenizer_files.h"

namespace rafter {
namespace {

using Words = std::vector<std::string_view>;

Words split(const Pretokenizer& pretokenizer, std::string_view text) {
  Words words;
  pretokenizer.split(text, words);
  return words;
}

Words split(std::initializer_list<Split> splits, std::string_view text) {
  return split(Pretokenizer(std::span(splits.begin(), splits.size())), text);
}

TEST(Pretokenizer, Gpt2) {
  EXPECT_EQ(split({Split::gpt2}, ""), Words{});
  EXPECT_EQ(split({Split::gpt2}, "I'll  pay 1234!?\n\n x"), (Words{"I", "'ll", " ", " pay", " 1234", "!?", "\n\n", " x"}));
  EXPECT_EQ(split({Split::gpt2}, "IT'S a  "), (Words{"IT", "'", "S", " a", "  "}));
}

TEST(Pretokenizer, Llama3) {
  EXPECT_EQ(split({Split::llama3}, "IT'S 12345 ok.\n\n  go\t(now)"),
            (Words{"IT", "'S", " ", "123", "45", " ok", ".\n\n", " ", " go", "\t", "(now", ")"}));
}

TEST(Pretokenizer, Qwen2) {
  EXPECT_EQ(split({Split::qwen2}, "12 a \n \n  b"), (Words{"1", "2", " a", " \n \n", " ", " b"}));
  EXPECT_EQ(split({Split::qwen2}, "it'\xc5\xbf"), (Words{"it", "'\xc5\xbf"}));  // U+017F is an s but for its case
}

TEST(Pretokenizer, Smollm) { EXPECT_EQ(split({Split::digits, Split::gpt2}, "a  12 b"), (Words{"a", "  ", "1", "2", " b"})); }

TEST(Pretokenizer, KnowsThePublishedPatternsByTheirText) {
  const nlohmann::json heads = test::golden_json("heads.json");
  const auto pattern = [&](const char* name) {
    const auto& steps = heads.at(name).at("tokenizer").at("pre_tokenizer").at("pretokenizers");
    return steps[0].at("pattern").at("Regex").get<std::string>();
  };
  EXPECT_EQ(split_with_pattern(pattern("qwen2.5")), Split::qwen2);
  EXPECT_EQ(split_with_pattern(pattern("llama3")), Split::llama3);
  EXPECT_EQ(split_with_pattern(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"), Split::gpt2);
  EXPECT_EQ(split_with_pattern(pattern("qwen2.5") + " "), std::nullopt);
  EXPECT_EQ(split_with_pattern(""), std::nullopt);
}

std::string utf8(unsigned point) {
  if (point < 0x800) return test::utf8_of(point);
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

std::vector<bool> members(const nlohmann::json& ranges) {
  std::vector<bool> out(0x110000);
  for (const auto& range : ranges) {
    for (unsigned point = range[0]; point <= range[1]; ++point) out[point] = true;
  }
  return out;
}

// Every code point is taken for a letter, a number, white space or none of these just as Hugging Face's engine does.
TEST(Pretokenizer, EveryCharacterIsOfItsClass) {
  const nlohmann::json golden = test::golden_json("characters.json");
  const auto letters = members(golden.at("letters")), numbers = members(golden.at("numbers"));
  const auto spaces = members(golden.at("spaces")), digits = members(golden.at("digits"));
  const auto unassigned = members(golden.at("unassigned"));
  const Split gpt2[] = {Split::gpt2}, single[] = {Split::digits};
  const Pretokenizer words(gpt2), singles(single);
  int checked = 0;
  for (unsigned point = 0; point < 0x110000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    const bool known = letters[point] || numbers[point] || spaces[point] || digits[point];
    if (!known && unassigned[point]) continue;  // a later PCRE2 may know it
    ++checked;
    const std::string c = utf8(point);
    // It joins with one of a, 1, ! and a line feed, whichever is of its class.
    const bool joins[] = {split(words, "a" + c).size() == 1, split(words, "1" + c).size() == 1,
                          split(words, "\n" + c).size() == 1, split(words, "!" + c).size() == 1};
    const bool expected[] = {letters[point], numbers[point], spaces[point],
                             !letters[point] && !numbers[point] && !spaces[point]};
    ASSERT_TRUE(std::equal(joins, joins + 4, expected)) << std::hex << "U+" << point;
    ASSERT_EQ(split(singles, "a" + c + "a").size() == 3, digits[point]) << std::hex << "U+" << point;
  }
  EXPECT_GT(checked, 280'000);
}

std::string random_text(Random& random) {
  constexpr std::string_view kPieces[] = {"a",
                                          "B",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\r\n",
                                          "\t",
                                          "1",
                                          "23",
                                          "'s",
                                          "'LL",
                                          "!",
                                          "-",
                                          "\xc2\xa0",
                                          "\xe4\xb8\xad",
                                          "\xcc\x81",
                                          "\xf0\x9f\x98\x80",
                                          "\xc2\xbd",
                                          "\xe2\x80\xa8",
                                          "'"};
  std::string text;
  for (uint64_t n = random.below(40); n > 0; --n) text += kPieces[random.below(std::size(kPieces))];
  return text;
}

TEST(Pretokenizer, WordsAreTheTextAndTheInterpreterAgreesWithCompiledCode) {
  const std::vector<std::vector<Split>> chains = {{Split::gpt2}, {Split::llama3}, {Split::qwen2}, {Split::digits, Split::gpt2}};
  for (const auto& chain : chains) {
    const Pretokenizer compiled(chain);
    const Pretokenizer interpreted(chain, {.jit = false});
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
      const std::string text = random_text(random);
      const Words words = split(compiled, text);
      std::string joined;
      for (const std::string_view word : words) {
        ASSERT_FALSE(word.empty());
        joined += word;
      }
      ASSERT_EQ(joined, text);
      ASSERT_EQ(split(interpreted, text), words) << text;
    }
  }
}

// A word that reaches a limit ends early; nothing is lost and matching goes on behind it.
TEST(Pretokenizer, ALimitCutsAWordAndLosesNothing) {
  std::string blank_lines;
  for (int i = 0; i < 4000; ++i) blank_lines += " \n";
  const std::string text = "a" + blank_lines + "b";
  const Split qwen2[] = {Split::qwen2};
  const Words whole = split(Pretokenizer(qwen2), text);
  EXPECT_EQ(whole, (Words{"a", blank_lines, "b"}));
  for (const bool jit : {false, true}) {
    const Words cut = split(Pretokenizer(qwen2, {.matches = 200, .jit = jit, .slice_bytes = 64}), text);
    std::string joined;
    for (const std::string_view word : cut) joined += word;
    EXPECT_EQ(joined, text);
    EXPECT_EQ(cut.front(), "a");
    EXPECT_EQ(cut.back(), "b");
    if (!jit) {
      EXPECT_GT(cut.size(), 3u);  // compiled code counts otherwise and may not reach the limit
    }
  }
}

}  // namespace
}  // namespace rafter
