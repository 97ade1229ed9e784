// Finds added tokens ("<|im_end|>") in text. Used only where the caller asks for special tokens to be read.
//
// Of tokens that match at one place the longest wins; matches are taken from left to right. Tokens come with a few
// distinct lengths only, so a place costs one hash look-up per length, and none where no token starts with its byte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rafter/formats/tokenizer_vocabulary.h"

namespace rafter {

struct AddedToken {
  int32_t id;
  bool eats_space_before = false;  // lstrip: white space before it belongs to the match
  bool eats_space_after = false;   // rstrip
};

class AddedTokens {
 public:
  // The text must not be empty. Of two tokens with one text the first counts.
  void add(std::string_view text, const AddedToken& token);
  bool empty() const { return by_text_.empty(); }
  std::optional<int32_t> find(std::string_view text) const;

  // The text from left to right, as stretches without added tokens (never empty) and the tokens found between them.
  void scan(std::string_view text, const std::function<void(std::string_view)>& on_text,
            const std::function<void(int32_t)>& on_token) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return hash_bytes(text); }
  };
  struct Match {
    const AddedToken* token = nullptr;
    size_t length = 0;
  };
  Match longest_at(std::string_view text, size_t at) const;

  std::unordered_map<std::string, AddedToken, Hash, std::equal_to<>> by_text_;
  std::vector<size_t> lengths_;  // distinct, longest first
  bool starts_[256] = {};        // whether any token starts with the byte
};

}  // namespace rafter
