// The vocabularies of tests/golden/tokenizers, put together as the files that tokenizers are read from.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rafter/formats/gguf.h"
#include "rafter/formats/tokenizer.h"
#include "tests/support/gguf_writer.h"

namespace rafter::test {

inline std::string golden_text(const std::string& name) {
  std::ifstream file(std::string(RAFTER_SOURCE_DIR "/tests/golden/tokenizers/") + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json golden_json(const std::string& name) { return nlohmann::json::parse(golden_text(name)); }

inline std::string utf8_of(unsigned point) {
  if (point < 0x80) return {static_cast<char>(point)};
  return {static_cast<char>(0xc0 | point >> 6), static_cast<char>(0x80 | (point & 0x3f))};
}

// The character of GPT-2's alphabet for each byte.
inline std::array<std::string, 256> byte_characters() {
  std::array<std::string, 256> characters;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    characters[byte] = utf8_of(visible ? byte : next++);
  }
  return characters;
}

struct VocabularyTexts {
  std::vector<std::string> tokens;
  std::vector<std::array<std::string, 2>> merges;
};

inline VocabularyTexts unpack_merges(const std::string& name) {
  VocabularyTexts out;
  const auto characters = byte_characters();
  for (const bool itself : {true, false}) {  // GPT-2's order: first the bytes that are written as themselves
    for (unsigned byte = 0; byte < 256; ++byte) {
      if ((characters[byte] == utf8_of(byte)) == itself) out.tokens.push_back(characters[byte]);
    }
  }
  const std::string packed = golden_text(name);
  const auto id = [&](size_t at) {
    const auto byte = [&](size_t i) { return size_t{static_cast<unsigned char>(packed[at + i])}; };
    return byte(0) | byte(1) << 8 | byte(2) << 16;
  };
  for (size_t at = 0; at + 6 <= packed.size(); at += 6) {
    out.merges.push_back({out.tokens.at(id(at)), out.tokens.at(id(at + 3))});
    out.tokens.push_back(out.merges.back()[0] + out.merges.back()[1]);
  }
  return out;
}

// The tokenizer.json of a name in heads.json. Merges are written as "a b", or as ["a", "b"] with `merges_as_pairs`.
inline std::string golden_tokenizer_json(const std::string& name, bool merges_as_pairs = false) {
  const nlohmann::json head = golden_json("heads.json").at(name);
  const VocabularyTexts vocabulary = unpack_merges(head.at("merges"));
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  };
  std::string tokens, merges;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    tokens += (id == 0 ? "" : ",") + quoted(vocabulary.tokens[id]) + ":" + std::to_string(id);
  }
  for (const auto& [left, right] : vocabulary.merges) {
    if (!merges.empty()) merges += ',';
    merges += merges_as_pairs ? "[" + quoted(left) + "," + quoted(right) + "]" : quoted(left + ' ' + right);
  }
  std::string text = head.at("tokenizer").dump();
  const std::string mark = "\"model\":{";
  text.insert(text.find(mark) + mark.size(), "\"vocab\":{" + tokens + "},\"merges\":[" + merges + "],");
  return text;
}

inline Tokenizer golden_tokenizer(const std::string& name) { return Tokenizer::from_json(golden_tokenizer_json(name)); }

// The same vocabulary as the metadata of a GGUF file, with its pre-tokenizer by GGUF's name.
inline Bytes golden_tokenizer_gguf(const std::string& name, const char* pre) {
  const nlohmann::json head = golden_json("heads.json").at(name);
  VocabularyTexts vocabulary = unpack_merges(head.at("merges"));
  std::vector<int32_t> types(vocabulary.tokens.size(), 1);
  for (const nlohmann::json& added : head.at("tokenizer").at("added_tokens")) {
    vocabulary.tokens.push_back(added.at("content"));
    types.push_back(added.at("special") ? 3 : 4);
  }
  std::vector<std::string> merges;
  for (const auto& [left, right] : vocabulary.merges) merges.push_back(left + ' ' + right);
  GgufWriter writer;
  writer.put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", pre);
  writer.put("tokenizer.ggml.tokens", vocabulary.tokens).put("tokenizer.ggml.token_type", types);
  writer.put("tokenizer.ggml.merges", merges);
  return writer.bytes();
}

// SmolLM2's own file, where scripts/demo or scripts/test has fetched it.
inline std::optional<std::string> smollm2_path() {
  const char* home = std::getenv("HOME");
  const std::string path = std::string(home == nullptr ? "" : home) + "/.cache/rafter/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace rafter::test
