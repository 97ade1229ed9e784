// Byte-level BPE: text to token ids and back, as GPT-2, Llama 3, Qwen2/2.5/3 and SmolLM2 do it.
//
// Text from a user is never read as special tokens unless the caller asks for it; chat formats place their own. The rule
// covers every added token, also those that a file does not call special (Qwen's <tool_call>, <think>, <|fim_prefix|>):
// Hugging Face's tokenizers read these wherever they are typed, and here they differ on purpose. In all else the tokens are
// those of Hugging Face, also from a GGUF file: Qwen's text is normalised (NFC), which llama.cpp does not do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

class GgufFile;

enum class SpecialTokens { as_text, parse };  // what "<|im_end|>" in the text means

class Tokenizer {
 public:
  // From `tokenizer.ggml.*` of a GGUF file. An unknown model or pre-tokenizer is an input Error that names it; a file that
  // names no pre-tokenizer gets GPT-2's.
  static Tokenizer from_gguf(const GgufFile& file);
  // From a folder's tokenizer.json and, where present, tokenizer_config.json and generation_config.json.
  static Tokenizer from_hf(const std::string& folder);
  // The same from the files' text; either of the last two may be empty.
  static Tokenizer from_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json = {},
                             std::string_view generation_config_json = {});
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Linear in the length of the text, which may have up to 2 GiB. Invalid UTF-8 is encoded byte by byte and decodes to the
  // same bytes. A byte that the vocabulary has no token for is left out (SmolLM2 lacks 22: control characters, and bytes
  // that hardly occur in UTF-8). Adds no BOS: see adds_bos(). Safe to call from several threads.
  std::vector<int32_t> encode(std::string_view text, SpecialTokens specials = SpecialTokens::as_text) const;
  // The bytes of the tokens. Special tokens are left out unless `specials` is parse.
  std::string decode(std::span<const int32_t> tokens, SpecialTokens specials = SpecialTokens::as_text) const;
  // The bytes one token stands for (its text for a special one). An id out of range is an input Error.
  std::string_view bytes(int32_t token) const;

  int32_t size() const;  // ids are below it; a model may have more rows than that, which stand for nothing
  bool is_special(int32_t token) const;
  // The id of a special or ordinary token by its exact bytes (" the", not the "\u0120the" of the file).
  std::optional<int32_t> find(std::string_view text) const;
  std::optional<int32_t> bos() const;
  bool adds_bos() const;  // whether a plain prompt starts with bos()
  // Tokens that end a generation (EOS, end of turn).
  const std::vector<int32_t>& stops() const;
  bool is_stop(int32_t token) const;
  const std::string& chat_template() const;  // Jinja text, empty where the file has none

 private:
  struct State;
  class Encoding;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Text of a stream of tokens, a whole number of UTF-8 characters at a time.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string push(int32_t token);  // what can be shown now, perhaps nothing
  std::string finish();             // what is left, incomplete characters replaced by U+FFFD

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
};

}  // namespace rafter
