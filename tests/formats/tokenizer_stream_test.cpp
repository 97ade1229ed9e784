// What a stream shows, byte by byte and token by token.
#include <gtest/gtest.h>

#include "rafter/base/random.h"
#include "rafter/formats/tokenizer_utf8.h"
#include "tests/support/errors.h"
#include "tests/support/tokenizer_files.h"

namespace rafter {
namespace {

// One token for each byte, and a special one.
Tokenizer byte_tokenizer() {
  nlohmann::json json = test::golden_json("heads.json").at("gpt2").at("tokenizer");
  const auto characters = test::byte_characters();
  for (int byte = 0; byte < 256; ++byte) json["model"]["vocab"][characters[static_cast<size_t>(byte)]] = byte;
  json["model"]["merges"] = nlohmann::json::array();
  json["added_tokens"][0]["id"] = 256;
  return Tokenizer::from_json(json.dump());
}

// What each byte shows, and last what finish() adds.
std::vector<std::string> shown(const Tokenizer& tokenizer, std::string_view bytes) {
  StreamDecoder decoder(tokenizer);
  std::vector<std::string> parts;
  for (const char byte : bytes) parts.push_back(decoder.push(static_cast<unsigned char>(byte)));
  parts.push_back(decoder.finish());
  return parts;
}

const std::string kBad = "\xef\xbf\xbd";

TEST(StreamDecoder, ShowsWholeCharacters) {
  const Tokenizer tokenizer = byte_tokenizer();
  using Parts = std::vector<std::string>;
  EXPECT_EQ(shown(tokenizer, "a\xc3\xa9"), (Parts{"a", "", "\xc3\xa9", ""}));
  EXPECT_EQ(shown(tokenizer, "\xe2\x82\xac"), (Parts{"", "", "\xe2\x82\xac", ""}));
  EXPECT_EQ(shown(tokenizer, "\xf0\x9f\x98\x80!"), (Parts{"", "", "", "\xf0\x9f\x98\x80", "!", ""}));
}

TEST(StreamDecoder, ReplacesWhatIsInvalidAsSoonAsItIsKnown) {
  const Tokenizer tokenizer = byte_tokenizer();
  using Parts = std::vector<std::string>;
  EXPECT_EQ(shown(tokenizer, "\xff"), (Parts{kBad, ""}));
  EXPECT_EQ(shown(tokenizer, "\x80x"), (Parts{kBad, "x", ""}));
  EXPECT_EQ(shown(tokenizer, "\xe2\x82x"), (Parts{"", "", kBad + "x", ""}));  // one fault, then x
  EXPECT_EQ(shown(tokenizer, "\xe2\xe2\x82\xac"), (Parts{"", kBad, "", "\xe2\x82\xac", ""}));
  EXPECT_EQ(shown(tokenizer, "\xc0\xaf"), (Parts{kBad, kBad, ""}));                           // overlong
  EXPECT_EQ(shown(tokenizer, "\xe0\x80\x80"), (Parts{"", kBad + kBad, kBad, ""}));            // overlong
  EXPECT_EQ(shown(tokenizer, "\xed\xa0\x80"), (Parts{"", kBad + kBad, kBad, ""}));            // a surrogate
  EXPECT_EQ(shown(tokenizer, "\xf4\x90\x80\x80"), (Parts{"", kBad + kBad, kBad, kBad, ""}));  // above U+10FFFF
  EXPECT_EQ(shown(tokenizer, "\xf0\x9f\x98"), (Parts{"", "", "", kBad}));                     // cut off
}

// The parts together never depend on where they were cut, and are valid UTF-8 each.
TEST(StreamDecoder, PartsAreValidAndEqualTheWholeForRandomBytes) {
  const Tokenizer tokenizer = byte_tokenizer();
  Random random(5);
  constexpr unsigned char kBytes[] = {'a',  0x80, 0xbf, 0xc2, 0xc0, 0xe0, 0xe2, 0x82, 0xac,
                                      0xed, 0xa0, 0xf0, 0x9f, 0x98, 0xf4, 0x8f, 0xff};
  for (int i = 0; i < 5000; ++i) {
    std::string bytes;
    for (uint64_t n = random.below(12); n > 0; --n) bytes += static_cast<char>(kBytes[random.below(std::size(kBytes))]);
    std::string together;
    for (const std::string& part : shown(tokenizer, bytes)) {
      for (std::string_view rest = part; !rest.empty(); rest.remove_prefix(first_character(rest).length)) {
        ASSERT_EQ(first_character(rest).kind, Utf8Char::Kind::valid);
      }
      together += part;
    }
    std::string whole;
    for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(first_character(rest).length)) {
      const Utf8Char next = first_character(rest);
      whole += next.kind == Utf8Char::Kind::valid ? std::string(rest.substr(0, next.length)) : kBad;
    }
    ASSERT_EQ(together, whole);
  }
}

// Characters cut over tokens by a real vocabulary: emoji and scripts that GPT-2 has no tokens for.
TEST(StreamDecoder, TextOfTheCorpusComesBack) {
  const Tokenizer tokenizer = test::golden_tokenizer("gpt2");
  bool held_back = false;
  for (const std::string text : test::golden_json("corpus.json")) {
    StreamDecoder decoder(tokenizer);
    std::string together;
    for (const int32_t token : tokenizer.encode(text)) {
      const std::string part = decoder.push(token);
      held_back = held_back || part.empty();
      together += part;
    }
    EXPECT_EQ(decoder.finish(), "");
    EXPECT_EQ(together, text);
  }
  EXPECT_TRUE(held_back);
}

TEST(StreamDecoder, LeavesSpecialTokensOutAndChecksIds) {
  const Tokenizer tokenizer = byte_tokenizer();
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xc3), "");
  EXPECT_EQ(decoder.push(256), "");  // inside a character too
  EXPECT_EQ(decoder.push(0xa9), "\xc3\xa9");
  test::expect_input_error([&] { decoder.push(257); }, {"token id", "257", "256"});
  test::expect_input_error([&] { decoder.push(-1); }, {"token id", "-1"});
}

}  // namespace
}  // namespace rafter
