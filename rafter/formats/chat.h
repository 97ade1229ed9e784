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

// What each adds of its own, as its template does:
//   chatml    nothing; a BOS where the tokenizer says that a text starts with one
//   llama3    a BOS. Contents lose the white space at their ends. No system message unless one is given.
//   llama3_1  the same (also Llama 3.2 and 3.3), and always a system message that begins with the knowledge cut-off and a
//             date. The date is the template's own "26 Jul 2024", not today's: the same messages are the same tokens on
//             every day.
//   qwen2     the system message "You are a helpful assistant."
//   qwen2_5   the system message "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
//   qwen3     no system message. The assistant is free to think (the template's default); the thoughts of earlier answers
//             are taken out.
//   smollm2   the system message "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
enum class ChatFormat { chatml, llama3, llama3_1, qwen2, qwen2_5, qwen3, smollm2 };

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"; anything else is an input Error
  std::string content;
};

std::string_view name(ChatFormat format);
// By the names --chat-template takes: chatml, llama3, llama3.1, qwen2, qwen2.5, qwen3, smollm2. An input Error lists them.
ChatFormat chat_format_named(std::string_view name);
// Recognises a template; an input Error quotes its start and names --chat-template where it is none of ours.
ChatFormat recognise_chat_format(std::string_view jinja_template);

// The messages with the format's marks around them, ending where the assistant is to speak. Contents are encoded as
// text, so a "<|im_end|>" typed by a user stays text. Adds a default system message where the format's template does.
// An input Error where there is no message, or the tokenizer lacks a mark of the format.
std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, ChatFormat format, std::span<const ChatMessage> messages);

}  // namespace rafter
