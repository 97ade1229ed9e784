// What a loaded tokenizer holds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rafter/formats/bpe.h"
#include "rafter/formats/pretokenizer.h"
#include "rafter/formats/tokenizer.h"
#include "rafter/formats/tokenizer_added.h"
#include "rafter/formats/tokenizer_source.h"
#include "rafter/formats/tokenizer_vocabulary.h"

namespace rafter {

struct Tokenizer::State {
  // Throws an input Error that names the file and the entry at fault.
  static std::unique_ptr<State> build(const TokenizerSource& source);

  State(size_t tokens, std::span<const Split> splits) : vocabulary(tokens), pretokenizer(splits) {}
  State(const State&) = delete;

  Vocabulary vocabulary;
  std::optional<Bpe> bpe;  // refers to vocabulary; set by build()
  Pretokenizer pretokenizer;
  bool nfc = false;

  std::vector<TokenKind> kinds;  // by id
  AddedTokens added;             // matched in text as it is
  AddedTokens added_normalized;  // matched in normalised text

  std::optional<int32_t> bos;
  bool adds_bos = false;
  std::vector<int32_t> stops;
  std::string chat_template;
};

}  // namespace rafter
