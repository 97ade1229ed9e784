#include "rafter/formats/tokenizer_json_model.h"

#include "rafter/base/error.h"

namespace rafter {

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  simdjson::dom::element value;
  if (object().at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  const char* separator = path_.ends_with(":") ? " " : ".";
  return JsonNode(value, path_ + separator + std::string(key));
}

JsonNode JsonNode::need(std::string_view key) const {
  if (auto node = find(key)) return *node;
  const char* separator = path_.ends_with(":") ? " " : ".";
  throw input_error({path_ + separator + std::string(key), "missing", "", "download the file again"});
}

bool JsonNode::flag(std::string_view key, bool otherwise) const {
  const auto node = find(key);
  return node ? node->boolean() : otherwise;
}

void JsonNode::refuse(const std::string& expected) const { throw input_error({path_, describe_json(value_), expected}); }

namespace {

// Models of other kinds, and the parts of BPE that byte-level vocabularies don't have, are named rather than half obeyed.
void check_model(const JsonNode& model) {
  // Files of 2019 and 2020 don't say their type.
  if (const auto type = model.find("type"); type && type->text() != "BPE") {
    const std::string kind = type->text() == "Unigram" ? "BPE (this is a SentencePiece vocabulary)" : "BPE";
    type->refuse(kind);
  }
  if (const auto fallback = model.find("byte_fallback"); fallback && fallback->boolean()) {
    fallback->refuse("false: a byte-level vocabulary, not a SentencePiece one");
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto affix = model.find(key); affix && !affix->text().empty())
      affix->refuse("none, as in byte-level vocabularies");
  }
}

// Ids may have gaps, but a file of a few bytes can't ask for a table of 2^60 entries.
int64_t checked_id(const JsonNode& node, size_t entries) {
  constexpr size_t kMostGaps = 65536;
  const int64_t id = node.integer();
  if (id < 0 || static_cast<size_t>(id) >= entries + kMostGaps) {
    node.refuse(fmt::format("an id from 0 to {}, as the file has {} tokens", entries + kMostGaps - 1, entries));
  }
  return id;
}

SourceToken& slot(TokenizerSource& source, int64_t id) {
  if (static_cast<size_t>(id) >= source.tokens.size()) source.tokens.resize(static_cast<size_t>(id) + 1);
  return source.tokens[static_cast<size_t>(id)];
}

void refuse_second(const JsonNode& node, int64_t id, std::string_view first, std::string_view second) {
  throw input_error({fmt::format("{}: id {}", node.path(), id),
                     fmt::format("given to both {} and {}", in_quotes(first, 40), in_quotes(second, 40)), "one token per id"});
}

void read_vocabulary(const JsonNode& vocabulary, size_t entries, TokenizerSource& source) {
  source.tokens.reserve(entries);
  for (const auto [text, value] : vocabulary.object()) {
    int64_t id = 0;
    // The path is made for an error only: this loop runs 150,000 times.
    const bool plain = value.get(id) == simdjson::SUCCESS && id >= 0 && static_cast<size_t>(id) < entries;
    if (!plain) id = checked_id({value, fmt::format("{}[{}]", vocabulary.path(), in_quotes(text, 40))}, entries);
    SourceToken& token = slot(source, id);
    if (token.kind != TokenKind::unused) refuse_second(vocabulary, id, token.text, text);
    token = {.text = text, .kind = TokenKind::ordinary};
  }
}

void read_added(const JsonNode& list, size_t entries, TokenizerSource& source) {
  size_t i = 0;
  for (const simdjson::dom::element value : list.list()) {
    const JsonNode node(value, fmt::format("{}[{}]", list.path(), i++));
    const int64_t id = checked_id(node.need("id"), entries);
    const std::string_view text = node.need("content").text();
    if (text.empty()) node.need("content").refuse("text");
    if (node.flag("single_word", false)) node.find("single_word")->refuse("false: matching whole words is not supported");
    SourceToken& token = slot(source, id);
    if (token.kind != TokenKind::unused && token.text != text) refuse_second(list, id, token.text, text);
    token = {.text = text,
             .kind = node.flag("special", false) ? TokenKind::special : TokenKind::added,
             .normalized = node.flag("normalized", false),
             .lstrip = node.flag("lstrip", false),
             .rstrip = node.flag("rstrip", false)};
  }
}

// "a b", or ["a", "b"] in files since tokenizers 0.20.
std::optional<SourceMerge> read_merge(simdjson::dom::element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return parse_merge(text);
  simdjson::dom::array pair;
  std::string_view parts[2];
  size_t count = 0;
  if (value.get(pair) != simdjson::SUCCESS) return std::nullopt;
  for (const simdjson::dom::element part : pair) {
    if (count == 2 || part.get(parts[count++]) != simdjson::SUCCESS) return std::nullopt;
  }
  return count == 2 ? std::optional(SourceMerge{parts[0], parts[1]}) : std::nullopt;
}

void read_merges(const JsonNode& merges, TokenizerSource& source) {
  const simdjson::dom::array list = merges.list();
  source.merges.reserve(list.size());
  for (const simdjson::dom::element value : list) {
    const auto merge = read_merge(value);
    if (!merge) {
      const JsonNode node(value, fmt::format("{}[{}]", merges.path(), source.merges.size()));
      node.refuse("two tokens: 'a b' or ['a', 'b']");
    }
    source.merges.push_back(*merge);
  }
}

void read_normalizer(const JsonNode& node, TokenizerSource& source) {
  const JsonNode type = node.need("type");
  if (type.text() == "NFC") {
    source.nfc = true;
  } else if (type.text() == "Sequence") {
    const JsonNode parts = node.need("normalizers");
    for (const simdjson::dom::element part : parts.list()) read_normalizer({part, parts.path() + "[]"}, source);
  } else {
    type.refuse("NFC, or no normalizer");
  }
}

Split read_split(const JsonNode& node) {
  if (const JsonNode behavior = node.need("behavior"); behavior.text() != "Isolated") behavior.refuse("Isolated");
  if (node.flag("invert", false)) node.find("invert")->refuse("false");
  const JsonNode regex = node.need("pattern").need("Regex");
  const auto split = split_with_pattern(regex.text());
  if (!split) {
    throw input_error({regex.path(), in_quotes(regex.text(), 200), "the pattern of GPT-2, Llama 3 or Qwen 2"});
  }
  return *split;
}

// Appends the splits; returns whether the chain has come to its end, the step from characters to bytes.
bool read_pretokenizer(const JsonNode& node, TokenizerSource& source) {
  const JsonNode type = node.need("type");
  if (type.text() == "Sequence") {
    const JsonNode parts = node.need("pretokenizers");
    bool ended = false;
    for (const simdjson::dom::element part : parts.list()) {
      const JsonNode step(part, parts.path() + "[]");
      if (ended) step.need("type").refuse("nothing after ByteLevel");
      ended = read_pretokenizer(step, source);
    }
    return ended;
  }
  if (type.text() == "Split") {
    source.splits.push_back(read_split(node));
  } else if (type.text() == "Digits") {
    if (!node.flag("individual_digits", false)) node.need("individual_digits").refuse("true");
    source.splits.push_back(Split::digits);
  } else if (type.text() == "ByteLevel") {
    if (node.flag("add_prefix_space", true)) {
      throw input_error({node.path() + ".add_prefix_space", "true", "false: a space before the text is not supported"});
    }
    if (node.flag("use_regex", true)) source.splits.push_back(Split::gpt2);
    return true;
  } else {
    type.refuse("Sequence, Split, Digits or ByteLevel");
  }
  return false;
}

// Llama 3 says with a template that a text starts with <|begin_of_text|>.
void read_post_processor(const JsonNode& node, TokenizerSource& source) {
  const JsonNode type = node.need("type");
  if (type.text() == "Sequence") {
    const JsonNode parts = node.need("processors");
    for (const simdjson::dom::element part : parts.list()) read_post_processor({part, parts.path() + "[]"}, source);
  } else if (type.text() == "TemplateProcessing") {
    const JsonNode single = node.need("single");
    const simdjson::dom::array pieces = single.list();
    if (pieces.size() == 0) return;
    const JsonNode first(pieces.at(0).value_unsafe(), single.path() + "[0]");
    const auto mark = first.find("SpecialToken");
    if (!mark) return;
    source.bos = find_token(source, mark->need("id").text());
    source.adds_bos = source.bos.has_value();
  }
}

}  // namespace

std::optional<int64_t> find_token(const TokenizerSource& source, std::string_view text) {
  std::optional<int64_t> ordinary;
  for (size_t id = 0; id < source.tokens.size(); ++id) {
    const SourceToken& token = source.tokens[id];
    if (token.kind == TokenKind::unused || token.text != text) continue;
    if (token.kind != TokenKind::ordinary) return static_cast<int64_t>(id);
    ordinary = static_cast<int64_t>(id);
  }
  return ordinary;
}

TokenizerSource read_tokenizer_json(const JsonNode& root) {
  TokenizerSource source;
  source.name = root.path().substr(0, root.path().size() - 1);  // without the colon
  const JsonNode model = root.need("model");
  check_model(model);
  const JsonNode vocabulary = model.need("vocab");
  const auto added = root.find("added_tokens");
  const size_t entries = vocabulary.object().size() + (added ? added->list().size() : 0);
  read_vocabulary(vocabulary, entries, source);
  if (added) read_added(*added, entries, source);
  read_merges(model.need("merges"), source);
  source.ignore_merges = model.flag("ignore_merges", false);
  if (const auto normalizer = root.find("normalizer")) read_normalizer(*normalizer, source);
  const JsonNode pretokenizer = root.need("pre_tokenizer");
  if (!read_pretokenizer(pretokenizer, source)) {
    throw input_error({pretokenizer.path(), "without a ByteLevel step", "a byte-level vocabulary"});
  }
  if (const auto processor = root.find("post_processor")) read_post_processor(*processor, source);
  return source;
}

}  // namespace rafter
