#include "rafter/cli/text_options.h"

#include <filesystem>
#include <limits>
#include <random>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/cli/input.h"
#include "rafter/cli/values.h"
#include "rafter/engine/stop_strings.h"

namespace rafter {

namespace {

constexpr int64_t kMaxPromptBytes = int64_t{64} << 20;
constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

std::string read_prompt(const std::string& path) {
  if (path == "-") return read_standard_input(kMaxPromptBytes);
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  const bool stream = std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status);
  return stream ? read_stream(path, kMaxPromptBytes) : read_text_file(path, kMaxPromptBytes);
}

}  // namespace

void add_prompt_options(CLI::App& app, PromptOptions& options) {
  app.add_option("-p,--prompt", options.text, "The prompt")->type_name("TEXT");
  add_word(app, "-f,--file", options.file, "FILE",
           "A file or a pipe with the prompt; - is standard input. One line end at its end is dropped");
  app.add_flag("--specials", options.specials, "Read marks such as <|im_end|> in the prompt as special tokens, not as text");
}

std::string prompt_text(const PromptOptions& options) {
  if (options.text && !options.file.empty())
    throw input_error({"the prompt", "given twice, by -p and by -f", "one of the two"});
  if (options.text) return *options.text;
  if (options.file.empty()) throw input_error({"the prompt", "not given", "-p TEXT or -f FILE"});
  std::string text = read_prompt(options.file);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<int32_t> encode_prompt(const Tokenizer* tokenizer, const std::string& text, bool specials) {
  std::vector<int32_t> tokens;
  if (tokenizer == nullptr) {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  if (tokenizer->adds_bos() && tokenizer->bos()) tokens.push_back(*tokenizer->bos());
  const auto encoded = tokenizer->encode(text, specials ? SpecialTokens::parse : SpecialTokens::as_text);
  tokens.insert(tokens.end(), encoded.begin(), encoded.end());
  return tokens;
}

void refuse_specials_in_chat(const PromptOptions& options, bool as_chat) {
  if (options.specials && as_chat)
    throw input_error(
        {"--specials", "given together with a chat format", "one of the two", "marks in a chat's messages are text"});
}

void add_chat_options(CLI::App& app, ChatOptions& options) {
  add_word(app, "--chat-template", options.chat_template, "NAME",
           "The chat format, in place of what the model's template is recognised as");
  app.add_option("--system", options.system, "The system message")->type_name("TEXT");
}

ChatFormat chat_format(const ChatOptions& options, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) throw input_error({"the tokenizer", "missing: random weights have none", "a model file, to chat"});
  if (!options.chat_template.empty()) return chat_format_named(options.chat_template);
  return recognise_chat_format(tokenizer->chat_template());
}

std::vector<ChatMessage> first_messages(const ChatOptions& options, const std::string& text) {
  std::vector<ChatMessage> messages;
  if (options.system) messages.push_back({"system", *options.system});
  messages.push_back({"user", text});
  return messages;
}

void add_generation_options(CLI::App& app, GenerationFlags& flags) {
  const char* group = "Generation";
  SamplerOptions& sampler = flags.sampler;
  add_integer(app, "-n,--n-predict", flags.generate.max_tokens, {-1, kUnbounded},
              "At most so many tokens (default -1: until the model ends or the context is full)")
      ->group(group);
  add_number(app, "--temp", sampler.temperature, "Temperature (default 0: greedy, the same text every time)")->group(group);
  add_integer(app, "--top-k", sampler.top_k, {0, kUnbounded}, "Choose among the K likeliest (default 40; 0: all)")
      ->group(group);
  add_number(app, "--top-p", sampler.top_p, "Choose among the fewest that reach this probability (default 0.95; 1: all)")
      ->group(group);
  add_number(app, "--min-p", sampler.min_p, "Choose among those at least this share of the likeliest (default 0.05; 0: all)")
      ->group(group);
  add_number(app, "--repeat-penalty", sampler.repeat_penalty, "Above 1 makes recent tokens less likely (default 1: off)")
      ->group(group);
  add_integer(app, "--repeat-last-n", sampler.repeat_last_n, {-1, kUnbounded},
              "How many tokens are recent (default 64; -1: all)")
      ->group(group);
  add_integer(app, "-s,--seed", flags.seed, {-1, kUnbounded}, "Seed of the sampler (default -1: another one every time)")
      ->group(group);
  app.add_option("--stop", flags.generate.stops, "End before this text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--ignore-eos", flags.generate.ignore_eos, "Go on after the model's end of text")->group(group);
}

SamplerOptions sampler_options(const GenerationFlags& flags) {
  SamplerOptions sampler = flags.sampler;
  std::random_device entropy;
  sampler.seed = flags.seed >= 0 ? static_cast<uint64_t>(flags.seed) : entropy();
  check(sampler);
  StopStrings checked(flags.generate.stops);
  return sampler;
}

}  // namespace rafter
