// Bad tokenizer files: one input Error that names the fault; never a crash, a hang or a huge allocation.
#include <gtest/gtest.h>

#include "rafter/base/random.h"
#include "tests/support/errors.h"
#include "tests/support/tokenizer_files.h"

namespace rafter {
namespace {

using Json = nlohmann::json;
using test::expect_input_error;

Json small_json() {
  Json json = test::golden_json("heads.json").at("llama3").at("tokenizer");
  json["model"]["vocab"] = {{"H", 0}, {"e", 1}, {"He", 2}, {"\xc4\xa0", 3}};
  json["model"]["merges"] = {"H e"};
  int id = 4;
  for (Json& token : json["added_tokens"]) token["id"] = id++;
  return json;
}

// The error for the small file with one value changed, or removed where it is null, by its JSON pointer.
void expect_bad(const std::string& pointer, const Json& value, std::initializer_list<std::string_view> parts) {
  Json json = small_json();
  json[Json::json_pointer(pointer)] = value;
  SCOPED_TRACE(pointer + " = " + value.dump());
  expect_input_error([&] { Tokenizer::from_json(json.dump()); }, parts);
}

TEST(TokenizerJsonBad, TheSmallFileIsGood) { EXPECT_EQ(Tokenizer::from_json(small_json().dump()).size(), 10); }

TEST(TokenizerJsonBad, Models) {
  expect_bad("/model", nullptr, {"tokenizer.json", "model", "missing"});
  expect_bad("/model", "BPE", {"model", "an object"});
  expect_bad("/model/type", "WordPiece", {"model.type", "WordPiece", "BPE"});
  expect_bad("/model/type", "Unigram", {"model.type", "Unigram", "SentencePiece"});
  expect_bad("/model/byte_fallback", true, {"model.byte_fallback", "true", "SentencePiece"});
  expect_bad("/model/byte_fallback", 1, {"model.byte_fallback", "true or false"});
  expect_bad("/model/continuing_subword_prefix", "##", {"continuing_subword_prefix", "##"});
  expect_bad("/model/end_of_word_suffix", "</w>", {"end_of_word_suffix", "</w>"});
}

TEST(TokenizerJsonBad, Vocabularies) {
  expect_bad("/model/vocab", nullptr, {"model.vocab", "missing"});
  expect_bad("/model/vocab", Json::array(), {"model.vocab", "a list", "an object"});
  expect_bad("/model/vocab/H", "0", {"model.vocab", "'H'", "an integer"});
  expect_bad("/model/vocab/H", 0.5, {"model.vocab", "'H'", "an integer"});
  expect_bad("/model/vocab/H", -1, {"model.vocab", "'H'", "-1"});
  expect_bad("/model/vocab/H", int64_t{1} << 60, {"model.vocab", "'H'", "1152921504606846976", "65545"});
  expect_bad("/model/vocab/H", UINT64_MAX, {"model.vocab", "'H'"});
  expect_bad("/model/vocab/H", 1, {"model.vocab", "id 1", "'H'", "'e'"});
  expect_bad("/added_tokens/0/id", 1, {"added_tokens", "id 1", "<|begin_of_text|>"});
  expect_bad("/added_tokens/0/id", int64_t{1} << 40, {"added_tokens[0].id", "1099511627776"});
  expect_bad("/added_tokens/0/id", nullptr, {"added_tokens[0].id", "missing"});
  expect_bad("/added_tokens/0/content", "", {"added_tokens[0].content"});
  expect_bad("/added_tokens/0/single_word", true, {"added_tokens[0].single_word"});
  expect_bad("/added_tokens", 3, {"added_tokens", "a list"});
  Json json = small_json();
  json["model"]["vocab"] = Json::object();
  json["model"]["merges"] = Json::array();
  json["added_tokens"] = Json::array();
  json["post_processor"] = nullptr;
  expect_input_error([&] { Tokenizer::from_json(json.dump()); }, {"tokenizer.json", "number of tokens", "0"});
}

TEST(TokenizerJsonBad, Merges) {
  expect_bad("/model/merges", nullptr, {"model.merges", "missing"});
  expect_bad("/model/merges", "H e", {"model.merges", "a list"});
  for (const Json& merge : {Json("He"), Json("H  e"), Json("H e "), Json(" H e"), Json(" "), Json(7), Json({"H"}),
                            Json({"H", "e", "e"}), Json({"H", 1}), Json::object()}) {
    expect_bad("/model/merges/0", merge, {"model.merges[0]", "two tokens"});
  }
  expect_bad("/model/merges/0", "e H", {"merge 0", "'e' + 'H'", "vocabulary"});
  expect_bad("/model/merges/0", "x y", {"merge 0", "'x' + 'y'"});
  expect_bad("/model/merges/0", "H \xe2\x96\x81", {"merge 0"});  // not of the byte alphabet
}

TEST(TokenizerJsonBad, Chains) {
  expect_bad("/normalizer", {{"type", "NFKC"}}, {"normalizer.type", "NFKC", "NFC"});
  expect_bad("/normalizer", Json::object(), {"normalizer.type", "missing"});
  expect_bad("/pre_tokenizer", nullptr, {"pre_tokenizer", "missing"});
  expect_bad("/pre_tokenizer", {{"type", "Metaspace"}}, {"pre_tokenizer.type", "Metaspace", "ByteLevel"});
  expect_bad("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array()}}, {"pre_tokenizer", "ByteLevel"});
  expect_bad("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\w+", {"Regex", "\\w+", "Llama 3"});
  expect_bad("/pre_tokenizer/pretokenizers/0/pattern", {{"String", " "}}, {"pattern.Regex", "missing"});
  expect_bad("/pre_tokenizer/pretokenizers/0/behavior", "Removed", {"behavior", "Removed", "Isolated"});
  expect_bad("/pre_tokenizer/pretokenizers/0/invert", true, {"invert"});
  expect_bad("/pre_tokenizer/pretokenizers/0", {{"type", "Digits"}, {"individual_digits", false}},
             {"individual_digits", "false", "true"});
  expect_bad("/pre_tokenizer/pretokenizers/1/add_prefix_space", true, {"add_prefix_space"});
  const Json digits = {{"type", "Digits"}, {"individual_digits", true}};
  expect_bad("/pre_tokenizer/pretokenizers/2", digits, {"Digits", "nothing after ByteLevel"});
}

TEST(TokenizerJsonBad, TheFilesBesideIt) {
  const auto expect = [](const Json& config, const Json& generation, std::initializer_list<std::string_view> parts) {
    expect_input_error([&] { Tokenizer::from_json(small_json().dump(), config.dump(), generation.dump()); }, parts);
  };
  const Json none = Json::object();
  expect({{"bos_token", "<s>"}}, none, {"tokenizer_config.json", "bos_token", "<s>"});
  expect({{"eos_token", 3}}, none, {"tokenizer_config.json", "eos_token", "an object"});
  expect({{"add_bos_token", "yes"}}, none, {"add_bos_token", "true or false"});
  expect({{"chat_template", 7}}, none, {"chat_template", "a list"});
  expect({{"chat_template", {{{"name", "x"}}}}}, none, {"chat_template[].template", "missing"});
  expect(none, {{"eos_token_id", 10}}, {"end-of-text token", "10", "9"});
  expect(none, {{"eos_token_id", -1}}, {"end-of-text token", "-1"});
  expect(none, {{"eos_token_id", {1, "x"}}}, {"generation_config.json", "eos_token_id", "an integer"});
  expect(none, {{"bos_token_id", "x"}}, {"generation_config.json", "bos_token_id", "an integer"});
  Json json = small_json();
  json["post_processor"] = nullptr;  // which names a bos already
  expect_input_error([&] { Tokenizer::from_json(json.dump(), "", R"({"bos_token_id": 1152921504606846976})"); },
                     {"beginning-of-text token", "1152921504606846976"});
}

TEST(TokenizerJsonBad, NotJson) {
  for (const std::string text : {"", "{", "null", "7", "[]", "<!DOCTYPE html><html></html>",
                                 "version https://git-lfs.github.com/spec/v1", "{\"model\": \"\xff\"}"}) {
    expect_input_error([&] { Tokenizer::from_json(text); }, {"tokenizer.json"});
  }
  expect_input_error([&] { Tokenizer::from_json(std::string(100, '[') + std::string(100, ']')); }, {"tokenizer.json", "64"});
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"type":"Sequence","pretokenizers":[)";
  expect_input_error([&] { Tokenizer::from_json(R"({"pre_tokenizer":)" + deep); }, {"tokenizer.json"});
}

// Either a tokenizer that works or an input Error.
void expect_survives(const std::string& json) {
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(json);
    ASSERT_LT(tokenizer.size(), 70'000);
    for (const SpecialTokens specials : {SpecialTokens::as_text, SpecialTokens::parse}) {
      const auto ids = tokenizer.encode("He HeHe<|eot_id|>\xff", specials);
      tokenizer.decode(ids, specials);
    }
  } catch (const Error& error) {
    ASSERT_EQ(error.fault(), Fault::input) << error.what();
  }
}

TEST(TokenizerJsonBad, EveryTruncation) {
  const std::string json = small_json().dump();
  for (size_t size = 0; size < json.size(); ++size) {
    expect_input_error([&] { Tokenizer::from_json(json.substr(0, size)); }, {"tokenizer.json"});
  }
}

TEST(TokenizerJsonBad, RandomChanges) {
  const std::string json = small_json().dump();
  constexpr std::string_view kPieces[] = {"\"",   "{",  "}",           "[",   "]",    ",",       ":", "null",
                                          "true", "-1", "99999999999", "1e9", "\"\"", "\\u0000", "0"};
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = json;
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      const size_t at = random.below(changed.size());
      switch (random.below(4)) {
        case 0:
          changed[at] = static_cast<char>(random.below(128));
          break;
        case 1:
          changed.erase(at, 1 + random.below(8));
          break;
        case 2:
          changed.insert(at, kPieces[random.below(std::size(kPieces))]);
          break;
        default: {  // one number becomes another
          const size_t digit = changed.find_first_of("0123456789", at);
          if (digit != std::string::npos) changed[digit] = static_cast<char>('0' + random.below(10));
        }
      }
    }
    expect_survives(changed);
  }
}

// Whole values exchanged for others, which random bytes seldom do.
TEST(TokenizerJsonBad, EveryValueExchanged) {
  const Json flat = small_json().flatten();
  const Json others[] = {nullptr, true, 0, -5, 3.5, int64_t{1} << 62, "", "H", Json::array(), Json::object(), {1, 2}};
  for (const auto& [pointer, value] : flat.items()) {
    for (std::string prefix = pointer; !prefix.empty(); prefix.resize(prefix.rfind('/'))) {
      for (const Json& other : others) {
        Json json = small_json();
        json[Json::json_pointer(prefix)] = other;
        expect_survives(json.dump());
      }
    }
  }
}

// --- GGUF ---

void expect_bad_gguf(const std::function<void(test::GgufWriter&)>& write, std::initializer_list<std::string_view> parts) {
  test::GgufWriter writer;
  write(writer);
  const test::Bytes bytes = writer.bytes();
  expect_input_error([&] { Tokenizer::from_gguf(GgufFile(bytes, "model.gguf")); }, parts);
}

using Texts = std::vector<std::string>;
using Integers = std::vector<int32_t>;

test::GgufWriter& start(test::GgufWriter& writer, const char* model = "gpt2", const char* pre = "gpt-2") {
  return writer.put("tokenizer.ggml.model", model).put("tokenizer.ggml.pre", pre);
}

TEST(TokenizerGgufBad, Kinds) {
  expect_bad_gguf([](auto&) {}, {"model.gguf", "tokenizer.ggml.model", "missing"});
  expect_bad_gguf([](auto& w) { start(w, "llama"); }, {"model.gguf", "'llama'", "SentencePiece", "BPE"});
  expect_bad_gguf([](auto& w) { start(w, "rwkv"); }, {"'rwkv'", "BPE"});
  expect_bad_gguf([](auto& w) { start(w, "gpt2", "tekken"); }, {"tokenizer.ggml.pre", "'tekken'", "qwen2", "smollm"});
  expect_bad_gguf([](auto& w) { w.put("tokenizer.ggml.model", 7u); }, {"tokenizer.ggml.model"});
}

TEST(TokenizerGgufBad, Tokens) {
  const Texts tokens = {"a", "b", "ab"};
  expect_bad_gguf([](auto& w) { start(w); }, {"model.gguf", "number of tokens", "0"});
  expect_bad_gguf(
      [&](auto& w) {
        start(w).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.token_type", Integers{1, 1});
      },
      {"tokenizer.ggml.token_type", "2", "3, one per token"});
  expect_bad_gguf(
      [&](auto& w) {
        start(w).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.token_type", Integers{1, 9, 1});
      },
      {"token 1", "9", "1 to 6"});
  expect_bad_gguf(
      [&](auto& w) {
        start(w).put("tokenizer.ggml.tokens", Texts{"a", "b", "a"});
      },
      {"model.gguf", "token 2", "'a', as token 0 is", "each token once"});
  expect_bad_gguf(
      [&](auto& w) {
        start(w).put("tokenizer.ggml.tokens", Texts{"a", "<x>", "<x>"}).put("tokenizer.ggml.token_type", Integers{1, 3, 4});
      },
      {"token 2", "'<x>', as token 1 is"});
  expect_bad_gguf(
      [&](auto& w) {
        start(w).put("tokenizer.ggml.tokens", Texts{"a", "b", "a"}).put("tokenizer.ggml.token_type", Integers{3, 1, 1});
      },
      {"token 0", "'a', as token 2 is"});
  for (const char* merge : {"ab", "a  b", " a b", "a ", "", "a b c"}) {
    expect_bad_gguf(
        [&](auto& w) {
          start(w).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.merges", Texts{"a b", merge});
        },
        {"tokenizer.ggml.merges[1]", "one space"});
  }
  expect_bad_gguf([&](auto& w) { start(w).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.merges", Texts{"b a"}); },
                  {"merge 0", "'b' + 'a'"});
  expect_bad_gguf([&](auto& w) { start(w).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.bos_token_id", 3u); },
                  {"beginning-of-text token", "3", "0 to 2"});
  expect_bad_gguf([&](auto& w) { start(w).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.eos_token_id", -1); },
                  {"end-of-text token", "-1"});
}

}  // namespace
}  // namespace rafter
