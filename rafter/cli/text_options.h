// The options of prompts and of sampling, shared by the verbs that speak text.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rafter/engine/generate.h"
#include "rafter/engine/sampler.h"
#include "rafter/formats/chat.h"
#include "rafter/formats/tokenizer.h"

namespace rafter {

struct PromptOptions {
  std::optional<std::string> text;
  std::string file;
  bool specials = false;
};

// -p, -f and --specials.
void add_prompt_options(CLI::App& app, PromptOptions& options);
// The prompt's text, from -p or the file ("-" is standard input, one last line end is dropped). An input Error where
// neither or both are given.
std::string prompt_text(const PromptOptions& options);
// As a plain prompt: with BOS where the model starts with it. With no tokenizer every byte is a token.
std::vector<int32_t> encode_prompt(const Tokenizer* tokenizer, const std::string& text, bool specials);

// An input Error for --specials with a chat: a message's marks are always text there.
void refuse_specials_in_chat(const PromptOptions& options, bool as_chat);

struct ChatOptions {
  std::string chat_template;  // empty: recognised from the model's
  std::optional<std::string> system;
  bool given() const { return !chat_template.empty() || system; }
};

// The messages that a text as the user's first one makes, with the system message where one was given.
std::vector<ChatMessage> first_messages(const ChatOptions& options, const std::string& text);

void add_chat_options(CLI::App& app, ChatOptions& options);
// An input Error where the format is not recognised, or there is no tokenizer.
ChatFormat chat_format(const ChatOptions& options, const Tokenizer* tokenizer);

struct GenerationFlags {
  SamplerOptions sampler;
  int64_t seed = -1;  // -1: a different one every time
  GenerateOptions generate;
};

// -n, -s, --temp, --top-k, --top-p, --min-p, --repeat-penalty, --repeat-last-n, --stop, --ignore-eos.
void add_generation_options(CLI::App& app, GenerationFlags& flags);
// The checked options, with the seed chosen where it was left open.
SamplerOptions sampler_options(const GenerationFlags& flags);

}  // namespace rafter
