// What a tokenizer promises beside the ids: bytes come back, special tokens are read only where asked for, and the files
// around it are obeyed.
#include "rafter/formats/tokenizer.h"

#include <gtest/gtest.h>

#include "rafter/base/random.h"
#include "rafter/formats/tokenizer_nfc.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tokenizer_files.h"

namespace rafter {
namespace {

using test::expect_input_error;
using Ids = std::vector<int32_t>;

std::string random_bytes(Random& random) {
  constexpr std::string_view kPieces[] = {"a",        " the", "\n",       "12",          "\xc3\xa9",      "\xe4\xb8\xad",
                                          "\xf0\x9f", "\x98", "\xed\xa0", "<|im_end|>",  "<|endoftext|>", "\xe2\x80",
                                          "e",        "\0",   "'s",       "<tool_call>", "\xcc\x81",      "\xf4\x90"};
  std::string text;
  for (uint64_t n = random.below(16); n > 0; --n) {
    if (random.below(2) == 0) {
      text += static_cast<char>(random.below(256));
    } else {
      text += kPieces[random.below(std::size(kPieces))];
    }
  }
  return text;
}

TEST(Tokenizer, AnyBytesComeBack) {
  for (const char* name : {"gpt2", "smollm", "llama3"}) {
    const Tokenizer tokenizer = test::golden_tokenizer(name);
    Random random(3);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_bytes(random);
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name;
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialTokens::parse), SpecialTokens::parse), text) << name;
    }
  }
}

// Qwen's normalisation changes valid characters; what has been through it once comes back as it is, and so do faulty bytes.
TEST(Tokenizer, AnyBytesComeBackFromQwenButForNormalisation) {
  const Tokenizer tokenizer = test::golden_tokenizer("qwen2.5");
  Random random(4);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_bytes(random);
    const std::string once = tokenizer.decode(tokenizer.encode(text));
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(once)), once);
  }
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("e\xcc\x81\xff\xf0\x9f\x98 e")), "\xc3\xa9\xff\xf0\x9f\x98 e");
}

TEST(Tokenizer, InvalidBytesAreTokensOfTheirOwn) {
  const Tokenizer tokenizer = test::golden_tokenizer("gpt2");
  const Ids ids = tokenizer.encode(
      "ab\xe4\xb8"
      "cd");
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_EQ(tokenizer.bytes(ids[0]), "ab");
  EXPECT_EQ(tokenizer.bytes(ids[1]), "\xe4");
  EXPECT_EQ(tokenizer.bytes(ids[2]), "\xb8");
  EXPECT_EQ(tokenizer.bytes(ids[3]), "cd");
}

TEST(Tokenizer, BytesWithoutATokenAreLeftOut) {
  const auto path = test::smollm2_path();
  if (!path) GTEST_SKIP() << "SmolLM2 is not in ~/.cache/rafter/models: scripts/demo fetches it";
  const GgufFile file(*path);
  const Tokenizer tokenizer = Tokenizer::from_gguf(file);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\x04"
                                              "b\xffz")),
            "abz");  // as Hugging Face does
}

// No text of a user gives a special or an added token, whatever it holds.
TEST(Tokenizer, TextIsNeverReadAsSpecial) {
  for (const char* name : {"qwen3", "llama3"}) {
    const Tokenizer tokenizer = test::golden_tokenizer(name);
    const int32_t first_added = *tokenizer.find(std::string_view(name) == "qwen3" ? "<|endoftext|>" : "<|begin_of_text|>");
    std::vector<std::string> marks;
    for (int32_t id = first_added; id < tokenizer.size(); ++id) marks.emplace_back(tokenizer.bytes(id));
    Random random(11);
    for (int i = 0; i < 2000; ++i) {
      std::string text = random_bytes(random);
      for (uint64_t n = random.below(4); n > 0; --n) text += marks[random.below(marks.size())] + random_bytes(random);
      for (const int32_t id : tokenizer.encode(text)) ASSERT_LT(id, first_added) << text;
    }
    for (const std::string& mark : marks) {
      EXPECT_EQ(tokenizer.encode(mark, SpecialTokens::parse), Ids{*tokenizer.find(mark)});
      EXPECT_GT(tokenizer.encode(mark).size(), 1u);
    }
  }
}

TEST(Tokenizer, DecodeLeavesSpecialTokensOutUnlessAsked) {
  const Tokenizer tokenizer = test::golden_tokenizer("qwen3");
  const Ids ids = tokenizer.encode("<|im_start|>Hi<think>x<|im_end|>", SpecialTokens::parse);
  EXPECT_EQ(tokenizer.decode(ids), "Hi<think>x");  // <think> is added but not special: it is shown
  EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::parse), "<|im_start|>Hi<think>x<|im_end|>");
  EXPECT_TRUE(tokenizer.is_special(*tokenizer.find("<|im_end|>")));
  EXPECT_FALSE(tokenizer.is_special(*tokenizer.find("<think>")));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_FALSE(tokenizer.is_special(tokenizer.size()));
  expect_input_error([&] { tokenizer.decode(Ids{0, tokenizer.size()}); }, {"token id", "151669", "151668"});
  expect_input_error([&] { tokenizer.bytes(-1); }, {"token id", "-1"});
}

TEST(Tokenizer, FindsTokensByTheirBytes) {
  const Tokenizer tokenizer = test::golden_tokenizer("gpt2");
  EXPECT_EQ(tokenizer.find(" the"), 262);
  EXPECT_EQ(tokenizer.find("<|endoftext|>"), 50256);
  EXPECT_EQ(tokenizer.find("\xff"), tokenizer.encode("\xff").at(0));
  EXPECT_EQ(tokenizer.find("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer.find(""), std::nullopt);
}

// --- a vocabulary to change ---

// Letters of "Hello world", a few merges, and two marks.
nlohmann::json small_json() {
  nlohmann::json json = test::golden_json("heads.json").at("gpt2").at("tokenizer");
  int id = 0;
  for (const char* text : {"H", "e", "l", "o", "\xc4\xa0", "w", "r", "d", "He", "ll", "Hell", "\xc4\xa0w"})
    json["model"]["vocab"][text] = id++;
  json["model"]["merges"] = {"H e", "l l", "He ll", "\xc4\xa0 w"};
  nlohmann::json mark = json["added_tokens"][0];
  mark["id"] = 12;
  json["added_tokens"] = nlohmann::json::array({mark});
  mark["id"] = 13;
  mark["content"] = "<|im_end|>";
  json["added_tokens"].push_back(mark);
  return json;
}

Tokenizer read(const nlohmann::json& json, const nlohmann::json& config = {}, const nlohmann::json& generation = {}) {
  return Tokenizer::from_json(json.dump(), config.is_null() ? "" : config.dump(),
                              generation.is_null() ? "" : generation.dump());
}

TEST(TokenizerJson, Small) {
  const Tokenizer tokenizer = read(small_json());
  EXPECT_EQ(tokenizer.size(), 14);
  EXPECT_EQ(tokenizer.encode("Hello world"), (Ids{10, 3, 11, 3, 6, 2, 7}));
  EXPECT_EQ(tokenizer.stops(), (Ids{12, 13}));
  EXPECT_TRUE(tokenizer.is_stop(13));
  EXPECT_FALSE(tokenizer.is_stop(3));
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.chat_template(), "");
}

TEST(TokenizerJson, AddedTokensFlags) {
  nlohmann::json json = small_json();
  json["added_tokens"][1]["lstrip"] = true;
  json["added_tokens"][1]["rstrip"] = true;
  EXPECT_EQ(read(json).encode("He \t<|im_end|>\n\xc2\xa0He", SpecialTokens::parse), (Ids{8, 13, 8}));
  json["added_tokens"][1]["lstrip"] = false;
  EXPECT_EQ(read(json).encode(" <|im_end|>\n\xe3\x80\x80He", SpecialTokens::parse), (Ids{4, 13, 8}));
  // The longest of two at one place, and one that is matched in normalised text only.
  nlohmann::json longer = small_json();
  longer["normalizer"] = {{"type", "NFC"}};
  longer["added_tokens"].push_back(
      {{"id", 14}, {"content", "<|im_end|>H"}, {"special", true}, {"normalized", false}, {"lstrip", false}, {"rstrip", false}});
  longer["added_tokens"].push_back({{"id", 15}, {"content", "\xc3\xa9"}, {"special", true}, {"normalized", true}});
  EXPECT_EQ(read(longer).encode("<|im_end|>He\xcc\x81<|im_end|>", SpecialTokens::parse), (Ids{14, 15, 13}));
}

TEST(TokenizerJson, GapsBetweenIdsAreUnused) {
  nlohmann::json json = small_json();
  json["added_tokens"][1]["id"] = 40;
  const Tokenizer tokenizer = read(json);
  EXPECT_EQ(tokenizer.size(), 41);
  EXPECT_EQ(tokenizer.bytes(30), "");
  EXPECT_EQ(tokenizer.find("<|im_end|>"), 40);
}

TEST(TokenizerJson, TheFilesBesideIt) {
  const nlohmann::json json = small_json();
  const nlohmann::json config = {{"bos_token", "H"},
                                 {"eos_token", {{"content", "o"}, {"special", true}}},
                                 {"add_bos_token", true},
                                 {"chat_template", "{{ x }}"}};
  Tokenizer tokenizer = read(json, config);
  EXPECT_EQ(tokenizer.bos(), 0);
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.stops(), (Ids{3, 12, 13}));
  EXPECT_EQ(tokenizer.chat_template(), "{{ x }}");

  tokenizer = read(json, {}, {{"eos_token_id", 5}, {"bos_token_id", 1}});
  EXPECT_EQ(tokenizer.stops(), (Ids{5, 12, 13}));
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_EQ(read(json, {}, {{"eos_token_id", {5, 4, 5}}}).stops(), (Ids{4, 5, 12, 13}));
  EXPECT_EQ(read(json, {{"bos_token", nullptr}}, {{"eos_token_id", nullptr}}).stops(), (Ids{12, 13}));

  const auto templates = [](std::initializer_list<const char*> names) {
    nlohmann::json list = nlohmann::json::array();
    for (const char* name : names) list.push_back({{"name", name}, {"template", std::string("for ") + name}});
    return nlohmann::json{{"chat_template", list}};
  };
  EXPECT_EQ(read(json, templates({"rag", "default", "tools"})).chat_template(), "for default");
  EXPECT_EQ(read(json, templates({"rag", "tools"})).chat_template(), "for rag");
  EXPECT_EQ(read(json, templates({})).chat_template(), "");
}

TEST(TokenizerJson, TheTemplateOfLlama3StartsATextWithBos) {
  const Tokenizer tokenizer = test::golden_tokenizer("llama3");
  EXPECT_EQ(tokenizer.bos(), tokenizer.find("<|begin_of_text|>"));
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_TRUE(tokenizer.is_stop(*tokenizer.find("<|eot_id|>")));
  EXPECT_TRUE(tokenizer.is_stop(*tokenizer.find("<|end_of_text|>")));
}

TEST(TokenizerJson, AFolder) {
  const test::TempFolder folder;
  expect_input_error([&] { Tokenizer::from_hf(folder.path()); }, {"tokenizer.json", "missing"});
  folder.write("tokenizer.model", "x");
  expect_input_error([&] { Tokenizer::from_hf(folder.path()); }, {"tokenizer.json", "SentencePiece"});
  folder.write("tokenizer.json", small_json().dump());
  EXPECT_EQ(Tokenizer::from_hf(folder.path()).size(), 14);
  folder.write("tokenizer_config.json", R"({"chat_template": "old", "eos_token": "o"})");
  folder.write("generation_config.json", R"({"eos_token_id": [1]})");
  EXPECT_EQ(Tokenizer::from_hf(folder.path()).chat_template(), "old");
  EXPECT_EQ(Tokenizer::from_hf(folder.path()).stops(), (Ids{1, 3, 12, 13}));
  folder.write("chat_template.jinja", "new");
  EXPECT_EQ(Tokenizer::from_hf(folder.path()).chat_template(), "new");
  folder.write("tokenizer_config.json", "[1]");
  expect_input_error([&] { Tokenizer::from_hf(folder.path()); }, {folder.path(), "tokenizer_config.json", "an object"});
}

// --- GGUF ---

test::GgufWriter small_gguf() {
  test::GgufWriter writer;
  writer.put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2");
  writer.put("tokenizer.ggml.tokens", std::vector<std::string>{"H", "e", "He", "<|im_start|>", "<|im_end|>", "[PAD0]", "<x>"});
  writer.put("tokenizer.ggml.token_type", std::vector<int32_t>{1, 6, 1, 3, 2, 5, 4});
  writer.put("tokenizer.ggml.merges", std::vector<std::string>{"H e"});
  return writer;
}

Tokenizer read(const test::GgufWriter& writer) {
  const test::Bytes bytes = writer.bytes();
  return Tokenizer::from_gguf(GgufFile(bytes, "model.gguf"));
}

TEST(TokenizerGguf, TypesOfTokens) {
  const Tokenizer tokenizer = read(small_gguf());
  EXPECT_EQ(tokenizer.encode("HeH<x>[PAD0]<|im_end|>", SpecialTokens::parse), (Ids{2, 0, 6, 4}));
  EXPECT_TRUE(tokenizer.is_special(3) && tokenizer.is_special(4));
  EXPECT_FALSE(tokenizer.is_special(5) || tokenizer.is_special(6));
  EXPECT_EQ(tokenizer.find("[PAD0]"), std::nullopt);
  EXPECT_EQ(tokenizer.stops(), Ids{4});
}

TEST(TokenizerGguf, StartAndEnd) {
  auto writer = small_gguf();
  writer.put("tokenizer.ggml.bos_token_id", 3u).put("tokenizer.ggml.eos_token_id", 1u).put("tokenizer.ggml.eot_token_id", 0u);
  writer.put("tokenizer.ggml.add_bos_token", true).put("tokenizer.chat_template", "{{ t }}");
  const Tokenizer tokenizer = read(writer);
  EXPECT_EQ(tokenizer.bos(), 3);
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.stops(), (Ids{0, 1, 4}));
  EXPECT_EQ(tokenizer.chat_template(), "{{ t }}");
}

TEST(TokenizerGguf, Llama3AddsABosUnlessTheFileSaysOtherwise) {
  test::GgufWriter writer;
  writer.put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "llama-bpe").put("tokenizer.ggml.bos_token_id", 1u);
  writer.put("tokenizer.ggml.tokens", std::vector<std::string>{"a", "<|begin_of_text|>"});
  EXPECT_TRUE(read(writer).adds_bos());
  writer.put("tokenizer.ggml.add_bos_token", false);
  EXPECT_FALSE(read(writer).adds_bos());
}

// --- normalisation ---

TEST(Nfc, ComposesAndOrders) {
  EXPECT_FALSE(may_need_nfc("plain \xc3\xa9"));
  EXPECT_TRUE(may_need_nfc("e\xcc\x81"));
  EXPECT_EQ(nfc("e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(nfc("q\xcc\x87\xcc\xa3"), "q\xcc\xa3\xcc\x87");                // the mark below comes first
  EXPECT_EQ(nfc("\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"), "\xea\xb0\x81");  // Hangul
  EXPECT_EQ(nfc("\xe0\xa5\x98"), "\xe0\xa4\x95\xe0\xa4\xbc");              // excluded from composition
  EXPECT_EQ(nfc("\xcc\x80\xdf\xbd"), "\xcc\x80\xdf\xbd");                  // U+07FD came after Unicode 9
  EXPECT_EQ(nfc("\xef\xac\x81"), "\xef\xac\x81");                          // compatibility forms stay
  EXPECT_EQ(nfc(""), "");
}

}  // namespace
}  // namespace rafter
