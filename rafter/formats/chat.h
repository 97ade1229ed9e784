// Chat formats: how a list of messages becomes tokens. The format is recognised from the model's Jinja template by
// its marks; templates are not interpreted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/formats/tokenizer.h"

namespace rafter {

enum class ChatFormat { chatml, llama3, qwen2_5, qwen3, smollm2 };

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"; anything else is an input Error
  std::string content;
};

std::string_view name(ChatFormat format);
// By the names --chat-template takes: chatml, llama3, qwen2.5, qwen3, smollm2. An input Error lists them.
ChatFormat chat_format_named(std::string_view name);
// Recognises a template; an input Error quotes its start and names --chat-template where it is none of ours.
ChatFormat recognise_chat_format(std::string_view jinja_template);

// The messages with the format's marks around them, ending where the assistant is to speak. Contents are encoded as
// text, so a "<|im_end|>" typed by a user stays text. Adds a default system message where the format's template does.
std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, ChatFormat format, std::span<const ChatMessage> messages);

}  // namespace rafter
