// `rafter tokenize`: text to tokens, and back.
#include <filesystem>

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/cli/output.h"
#include "rafter/cli/text_options.h"
#include "rafter/cli/values.h"
#include "rafter/cli/verb.h"
#include "rafter/models/checkpoint.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text;
  PromptOptions prompt;
  ChatOptions chat;
  bool as_chat = false, json = false;
  std::vector<int64_t> decode;
};

// A folder needs no weights for this.
Tokenizer open_tokenizer(const std::string& path) {
  if (path.empty()) throw input_error({"the model", "not given", "MODEL or -m MODEL"});
  if (std::filesystem::is_directory(path)) return Tokenizer::from_hf(path);
  return Checkpoint::open(path).tokenizer();
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string tokens_json(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  Json json = {{"schema", "rafter.tokenize/1"}};
  json["text"] = tokenizer.decode(tokens, SpecialTokens::parse);
  json["tokens"] = Json::array();
  for (const int32_t token : tokens) {
    const std::string_view bytes = tokenizer.bytes(token);
    json["tokens"].push_back({{"id", token}, {"text", bytes}, {"bytes", hex(bytes)}, {"special", tokenizer.is_special(token)}});
  }
  return to_text(json);
}

std::string tokens_table(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  Table table({{"id", Align::right}, {"piece"}});
  for (const int32_t token : tokens) {
    table.add({std::to_string(token), in_quotes(tokenizer.bytes(token)) + (tokenizer.is_special(token) ? "  special" : "")});
  }
  return table.text();
}

std::vector<int32_t> tokens_of(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  if (!options.decode.empty()) {
    std::vector<int32_t> tokens;
    for (const int64_t id : options.decode) {
      tokens.push_back(static_cast<int32_t>(parse_integer("--decode", std::to_string(id), {0, tokenizer.size() - 1})));
    }
    return tokens;
  }
  const std::string text = prompt_text(options.prompt);
  if (!options.as_chat) return encode_prompt(&tokenizer, text, options.prompt.specials);
  return encode_chat(tokenizer, chat_format(options.chat, &tokenizer), first_messages(options.chat, text));
}

int tokenize(TokenizeOptions& options) {
  const Tokenizer tokenizer = open_tokenizer(options.model);
  const std::vector<int32_t> tokens = tokens_of(options, tokenizer);
  if (options.json) {
    write_out(tokens_json(tokenizer, tokens));
  } else if (!options.decode.empty()) {
    write_out(tokenizer.decode(tokens, SpecialTokens::parse) + '\n');
  } else {
    write_out(tokens_table(tokenizer, tokens));
  }
  return 0;
}

}  // namespace

Verb add_tokenize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "Text to tokens, and back");
  command->footer(
      "Tokens are those that `rafter run` would feed the model: with its beginning-of-text token where it has one.\n"
      "Examples:\n"
      "  rafter tokenize model.gguf \"Hello, world\"\n"
      "  rafter tokenize model.gguf -p \"Hi\" --chat --json\n"
      "  rafter tokenize model.gguf --decode 19556,28,905");
  auto options = std::make_shared<TokenizeOptions>();
  add_word(*command, "-m,--model,MODEL", options->model, "MODEL", "A .gguf file, or a folder with a tokenizer.json");
  command->add_option("TEXT", options->text, "The text; or -p, or -f");
  add_prompt_options(*command, options->prompt);
  add_list(*command, "--decode", options->decode, {0, INT32_MAX}, "Print the text of these ids");
  command->add_flag("--chat", options->as_chat,
                    "The text is a user's message, in the model's chat format (also where the next two are given)");
  add_chat_options(*command, options->chat);
  command->add_flag("--json", options->json, "One JSON object (rafter.tokenize/1)");
  return {command, [options, command] {
            options->as_chat |= options->chat.given();
            for (const char* text : {"TEXT", "-p", "-f"}) refuse_together(*command, text, {"--decode"});
            refuse_together(*command, "--decode", {"--specials", "--chat", "--system", "--chat-template"});
            refuse_together(*command, "TEXT", {"-p", "-f"});
            refuse_specials_in_chat(options->prompt, options->as_chat);
            if (options->text) options->prompt.text = options->text;
            return tokenize(*options);
          }};
}

}  // namespace rafter
