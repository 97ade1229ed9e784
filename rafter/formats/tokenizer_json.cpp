// A tokenizer from the files of a Hugging Face folder: tokenizer.json, and what tokenizer_config.json,
// generation_config.json and chat_template.jinja beside it say about the start and the end of text.
#include <filesystem>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/formats/tokenizer_json_model.h"
#include "rafter/formats/tokenizer_state.h"

namespace rafter {

namespace {

constexpr char kTokenizer[] = "tokenizer.json", kConfig[] = "tokenizer_config.json";
constexpr char kGenerationConfig[] = "generation_config.json";
constexpr size_t kMaxDepth = 64;
constexpr int64_t kMostBytes = int64_t{1} << 28;  // Llama 3's tokenizer.json is 9 MB

// A token written as text, or as an object with the text in it. One that the vocabulary doesn't have is an input Error.
std::optional<int64_t> read_token(const JsonNode& config, std::string_view key, const TokenizerSource& source) {
  const auto node = config.find(key);
  if (!node) return std::nullopt;
  const std::string_view text = node->is_text() ? node->text() : node->need("content").text();
  const auto id = find_token(source, text);
  if (!id) throw input_error({node->path(), in_quotes(text, 80), "a token of " + source.name});
  return id;
}

// One template, or a list of named ones, of which "default" is meant, or else the first.
std::string read_template(const JsonNode& node) {
  if (node.is_text()) return std::string(node.text());
  std::optional<std::string> chosen;
  for (const simdjson::dom::element value : node.list()) {
    const JsonNode entry(value, node.path() + "[]");
    const std::string_view text = entry.need("template").text();
    if (!chosen || entry.need("name").text() == "default") chosen = text;
  }
  return chosen.value_or("");
}

void apply_config(const JsonNode& config, TokenizerSource& source) {
  if (const auto bos = read_token(config, "bos_token", source)) source.bos = bos;
  if (const auto eos = read_token(config, "eos_token", source)) source.stops.push_back(*eos);
  source.adds_bos = config.flag("add_bos_token", source.adds_bos);
  if (const auto node = config.find("chat_template")) source.chat_template = read_template(*node);
}

void apply_generation_config(const JsonNode& config, TokenizerSource& source) {
  if (const auto bos = config.find("bos_token_id")) {
    const int64_t id = bos->integer();
    if (!source.bos) source.bos = id;
  }
  const auto eos = config.find("eos_token_id");
  if (!eos) return;
  if (!eos->is_list()) return source.stops.push_back(eos->integer());
  for (const simdjson::dom::element id : eos->list()) source.stops.push_back(JsonNode(id, eos->path() + "[]").integer());
}

struct Loaded {
  std::unique_ptr<JsonText> text;  // what the source has views into
  TokenizerSource source;
};

// `folder` is for messages; it is empty where the texts come from elsewhere.
Loaded load(const std::filesystem::path& folder, std::string_view tokenizer, std::string_view config,
            std::string_view generation_config) {
  const auto origin = [&](const char* name) { return in_quotes((folder / name).string()); };
  const auto read = [&](std::string_view text, const char* name, const auto& use) {
    const JsonText json(text, origin(name), kMaxDepth);
    use(JsonNode(json.root(), origin(name) + ":"));
  };
  Loaded loaded;
  loaded.text = std::make_unique<JsonText>(tokenizer, origin(kTokenizer), kMaxDepth);
  loaded.source = read_tokenizer_json(JsonNode(loaded.text->root(), origin(kTokenizer) + ":"));
  if (!config.empty()) read(config, kConfig, [&](const JsonNode& root) { apply_config(root, loaded.source); });
  if (!generation_config.empty()) {
    read(generation_config, kGenerationConfig, [&](const JsonNode& root) { apply_generation_config(root, loaded.source); });
  }
  return loaded;
}

// The text of a file that need not be there.
std::string optional_text(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_text_file(path.string(), kMostBytes) : std::string();
}

std::string tokenizer_text(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kTokenizer;
  if (!std::filesystem::exists(path)) {
    const bool sentencepiece = std::filesystem::exists(folder / "tokenizer.model");
    throw input_error({in_quotes(path.string()), "missing", "a byte-level BPE tokenizer",
                       sentencepiece ? "this model has a SentencePiece tokenizer (tokenizer.model), which is not supported"
                                     : "download it with the model"});
  }
  return read_text_file(path.string(), kMostBytes);
}

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json,
                               std::string_view generation_config_json) {
  return Tokenizer(State::build(load({}, tokenizer_json, tokenizer_config_json, generation_config_json).source));
}

Tokenizer Tokenizer::from_hf(const std::string& folder) {
  const std::filesystem::path path = folder;
  Loaded loaded = load(path, tokenizer_text(path), optional_text(path / kConfig), optional_text(path / kGenerationConfig));
  // Where both are present the file of its own is the newer.
  if (std::string text = optional_text(path / "chat_template.jinja"); !text.empty()) loaded.source.chat_template = text;
  return Tokenizer(State::build(loaded.source));
}

}  // namespace rafter
