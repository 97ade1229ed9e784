// What a file says about a tokenizer, before any of it is believed: the GGUF and the tokenizer.json readers fill this in,
// and Tokenizer::State::build checks it and makes it fast.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/formats/pretokenizer.h"

namespace rafter {

enum class TokenKind : uint8_t {
  unused,    // a gap between ids, or padding
  ordinary,  // written in the byte alphabet
  added,     // written as plain text, matched in text as a whole, shown when decoded (<tool_call>)
  special,   // the same, but a control mark: not shown when decoded (<|im_end|>)
};

struct SourceToken {
  std::string_view text;
  TokenKind kind = TokenKind::unused;
  bool normalized = false;  // matched after normalisation, not before
  bool lstrip = false, rstrip = false;
};

struct SourceMerge {
  std::string_view left, right;
};

struct TokenizerSource {
  std::string name;  // of the file, for messages
  std::vector<SourceToken> tokens;
  std::vector<SourceMerge> merges;
  std::vector<Split> splits;
  bool nfc = false;
  bool ignore_merges = false;
  std::optional<int64_t> bos;
  bool adds_bos = false;
  std::vector<int64_t> stops;
  std::string chat_template;
};

// The merge written as "left right": the byte alphabet has no space, so there is one, and not at either end. Nothing where
// that is not so.
inline std::optional<SourceMerge> parse_merge(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == text.size()) return std::nullopt;
  if (text.find(' ', space + 1) != std::string_view::npos) return std::nullopt;
  return SourceMerge{text.substr(0, space), text.substr(space + 1)};
}

}  // namespace rafter
