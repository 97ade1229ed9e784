// A tokenizer from the metadata of a GGUF file: keys `tokenizer.ggml.*` of
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "rafter/formats/gguf.h"

#include "rafter/base/error.h"
#include "rafter/formats/tokenizer_state.h"

namespace rafter {

namespace {

// The pre-tokenizers by GGUF's names. What a name implies follows the models' tokenizer.json, so that a model gives the
// same tokens from either file: Qwen normalises, Llama 3 takes whole words and starts with a BOS. Files of 2023 and older
// name none ("default"); the vocabulary is then most likely GPT-2's kind.
struct Preset {
  std::string_view name;
  std::vector<Split> splits;
  bool nfc = false, ignore_merges = false, adds_bos = false;
};

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = {
      {"gpt-2", {Split::gpt2}},
      {"default", {Split::gpt2}},
      {"smollm", {Split::digits, Split::gpt2}},
      {.name = "qwen2", .splits = {Split::qwen2}, .nfc = true},
      {.name = "llama-bpe", .splits = {Split::llama3}, .ignore_merges = true, .adds_bos = true},
      {.name = "llama3", .splits = {Split::llama3}, .ignore_merges = true, .adds_bos = true},
      {.name = "llama-v3", .splits = {Split::llama3}, .ignore_merges = true, .adds_bos = true},
  };
  return kPresets;
}

const Preset& preset_named(const std::string& file, const std::string& name) {
  std::string known;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  throw input_error({file + ": the pre-tokenizer (tokenizer.ggml.pre)", in_quotes(name, 80), "one of " + known});
}

void check_model(const GgufFile& file) {
  const auto model = file.text("tokenizer.ggml.model");
  if (!model) {
    throw input_error({in_quotes(file.path()) + ": tokenizer.ggml.model", "missing", "a byte-level BPE vocabulary ('gpt2')",
                       "take a GGUF that carries its tokenizer"});
  }
  if (*model == "gpt2") return;
  const std::string kind = *model == "llama" ? " (SentencePiece)" : *model == "bert" ? " (WordPiece)" : "";
  throw input_error({in_quotes(file.path()) + ": the kind of tokenizer (tokenizer.ggml.model)", in_quotes(*model, 80) + kind,
                     "byte-level BPE ('gpt2')"});
}

TokenKind kind_of(const std::string& file, size_t id, int64_t type) {
  switch (type) {  // enum llama_token_type
    case 1:        // normal
    case 6:        // byte
      return TokenKind::ordinary;
    case 2:  // unknown
    case 3:  // control
      return TokenKind::special;
    case 4:  // user-defined
      return TokenKind::added;
    case 5:
      return TokenKind::unused;
    default:
      throw input_error(
          {fmt::format("{}: the type of token {} (tokenizer.ggml.token_type)", file, id), std::to_string(type), "1 to 6"});
  }
}

void read_tokens(const GgufFile& file, TokenizerSource& source) {
  const std::vector<std::string_view> texts = file.texts("tokenizer.ggml.tokens");
  const std::vector<int64_t> types = file.integers("tokenizer.ggml.token_type");
  if (!types.empty() && types.size() != texts.size()) {
    throw input_error({in_quotes(file.path()) + ": the length of tokenizer.ggml.token_type", std::to_string(types.size()),
                       fmt::format("{}, one per token", texts.size())});
  }
  source.tokens.reserve(texts.size());
  for (size_t id = 0; id < texts.size(); ++id) {
    const TokenKind kind = types.empty() ? TokenKind::ordinary : kind_of(source.name, id, types[id]);
    source.tokens.push_back({.text = texts[id], .kind = kind});
  }
  const std::vector<std::string_view> merges = file.texts("tokenizer.ggml.merges");
  source.merges.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto merge = parse_merge(merges[i]);
    if (!merge) {
      throw input_error({fmt::format("{}: tokenizer.ggml.merges[{}]", source.name, i), in_quotes(merges[i], 80),
                         "two tokens with one space between them"});
    }
    source.merges.push_back(*merge);
  }
}

}  // namespace

Tokenizer Tokenizer::from_gguf(const GgufFile& file) {
  check_model(file);
  const Preset& preset = preset_named(in_quotes(file.path()), file.text("tokenizer.ggml.pre").value_or("default"));
  TokenizerSource source;
  source.name = in_quotes(file.path());
  source.splits = preset.splits;
  source.nfc = preset.nfc;
  source.ignore_merges = preset.ignore_merges;
  read_tokens(file, source);
  source.bos = file.integer("tokenizer.ggml.bos_token_id");
  source.adds_bos = file.integer("tokenizer.ggml.add_bos_token").value_or(preset.adds_bos) != 0;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (const auto id = file.integer(key)) source.stops.push_back(*id);
  }
  source.chat_template = file.text("tokenizer.chat_template").value_or("");
  return Tokenizer(State::build(source));
}

}  // namespace rafter
