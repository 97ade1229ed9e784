// tokenizer.json, as the `tokenizers` library writes it, to a TokenizerSource.
#pragma once

#include <string>
#include <string_view>

#include "rafter/formats/json_text.h"
#include "rafter/formats/tokenizer_source.h"

namespace rafter {

// A value of a JSON text with the way to it, which its errors name: "'tokenizer.json': model.type".
class JsonNode {
 public:
  JsonNode(simdjson::dom::element value, std::string path) : value_(value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  simdjson::dom::element value() const { return value_; }
  bool is_null() const { return value_.is_null(); }
  bool is_text() const { return value_.is_string(); }
  bool is_list() const { return value_.is_array(); }

  // Each an input Error where the value is of another type.
  simdjson::dom::object object() const { return as<simdjson::dom::object>("an object"); }
  simdjson::dom::array list() const { return as<simdjson::dom::array>("a list"); }
  std::string_view text() const { return as<std::string_view>("text"); }
  int64_t integer() const { return as<int64_t>("an integer"); }
  bool boolean() const { return as<bool>("true or false"); }

  // The value under a key of an object; a null counts as absent.
  std::optional<JsonNode> find(std::string_view key) const;
  JsonNode need(std::string_view key) const;  // an input Error where it is absent
  bool flag(std::string_view key, bool otherwise) const;

  [[noreturn]] void refuse(const std::string& expected) const;

 private:
  template <typename T>
  T as(const char* expected) const {
    T out;
    if (value_.get(out) != simdjson::SUCCESS) refuse(expected);
    return out;
  }

  simdjson::dom::element value_;
  std::string path_;
};

// Everything but the files beside it. `root` must outlive the source, which has views into it.
TokenizerSource read_tokenizer_json(const JsonNode& root);

// The id of a token by its text, added and special ones first.
std::optional<int64_t> find_token(const TokenizerSource& source, std::string_view text);

}  // namespace rafter
