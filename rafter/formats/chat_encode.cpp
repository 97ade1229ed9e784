// Messages to tokens, in each chat format.
#include <algorithm>

#include "rafter/base/error.h"
#include "rafter/formats/chat.h"
#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

// Gathers marks and text. Text between two marks is encoded as one, since a word may reach from a header into a content:
// in "user\n" + "\nHi" the two line ends are one token.
class ChatWriter {
 public:
  ChatWriter(const Tokenizer& tokenizer, ChatFormat format) : tokenizer_(tokenizer), format_(format) {}

  void bos() {
    if (tokenizer_.bos()) tokens_.push_back(*tokenizer_.bos());
  }
  void mark(std::string_view mark) {
    flush();
    const auto id = tokenizer_.find(mark);
    if (!id) {
      throw input_error({fmt::format("the token {} of chat format {}", in_quotes(mark), name(format_)),
                         "not in the model's vocabulary", "", "name the model's own format with --chat-template NAME"});
    }
    tokens_.push_back(*id);
  }
  void text(std::string_view text) { text_ += text; }
  std::vector<int32_t> finish() {
    flush();
    return std::move(tokens_);
  }

 private:
  void flush() {
    const std::vector<int32_t> ids = tokenizer_.encode(text_, SpecialTokens::as_text);
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    text_.clear();
  }

  const Tokenizer& tokenizer_;
  const ChatFormat format_;
  std::vector<int32_t> tokens_;
  std::string text_;
};

// --- ChatML and its kin ---

void start_chatml_turn(ChatWriter& writer, std::string_view role) {
  writer.mark("<|im_start|>");
  writer.text(role);
  writer.text("\n");
}

void end_chatml_turn(ChatWriter& writer) {
  writer.mark("<|im_end|>");
  writer.text("\n");
}

void chatml_turn(ChatWriter& writer, std::string_view role, std::string_view content) {
  start_chatml_turn(writer, role);
  writer.text(content);
  end_chatml_turn(writer);
}

void chatml(ChatWriter& writer, std::string_view default_system, std::span<const ChatMessage> messages) {
  if (!default_system.empty() && messages[0].role != "system") chatml_turn(writer, "system", default_system);
  for (const ChatMessage& message : messages) chatml_turn(writer, message.role, message.content);
  start_chatml_turn(writer, "assistant");
}

// --- Qwen 3 ---

constexpr std::string_view kThink = "<think>", kThinkEnd = "</think>";

std::string_view strip_front(std::string_view text, char c) {
  while (text.starts_with(c)) text.remove_prefix(1);
  return text;
}

std::string_view strip_back(std::string_view text, char c) {
  while (text.ends_with(c)) text.remove_suffix(1);
  return text;
}

struct Answer {
  std::string_view thoughts, content;
};

// An answer as the model gave it: perhaps "<think>...</think>", then the content.
Answer split_thoughts(std::string_view answer) {
  const size_t last = answer.rfind(kThinkEnd);
  if (last == std::string_view::npos) return {{}, answer};
  std::string_view thoughts = strip_back(answer.substr(0, answer.find(kThinkEnd)), '\n');
  if (const size_t start = thoughts.rfind(kThink); start != std::string_view::npos) {
    thoughts.remove_prefix(start + kThink.size());
  }
  return {strip_front(thoughts, '\n'), strip_front(answer.substr(last + kThinkEnd.size()), '\n')};
}

void qwen3_thoughts(ChatWriter& writer, std::string_view thoughts) {
  writer.mark(kThink);
  writer.text("\n");
  writer.text(strip_back(strip_front(thoughts, '\n'), '\n'));
  writer.text("\n");
  writer.mark(kThinkEnd);
  writer.text("\n\n");
}

// A user message of this shape is a tool's answer and belongs to the turn before it.
bool is_tool_response(const ChatMessage& message) {
  return message.content.starts_with("<tool_response>") && message.content.ends_with("</tool_response>");
}

// Earlier answers lose their thoughts; those after the last question keep them.
void qwen3(ChatWriter& writer, std::span<const ChatMessage> messages) {
  size_t last_question = messages.size() - 1;
  for (size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role == "user" && !is_tool_response(messages[i])) {
      last_question = i;
      break;
    }
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") {
      chatml_turn(writer, messages[i].role, messages[i].content);
      continue;
    }
    const Answer answer = split_thoughts(messages[i].content);
    start_chatml_turn(writer, "assistant");
    const bool keeps_thoughts = i > last_question && (i + 1 == messages.size() || !answer.thoughts.empty());
    if (keeps_thoughts) qwen3_thoughts(writer, answer.thoughts);
    writer.text(keeps_thoughts ? strip_front(answer.content, '\n') : answer.content);
    end_chatml_turn(writer);
  }
  start_chatml_turn(writer, "assistant");
}

// --- Llama 3 ---

// As Jinja's trim: white space, and the four control characters that Python counts to it.
std::string_view trim(std::string_view text) {
  const auto is_space = [](char32_t point) { return is_white_space(point) || (point >= 0x1c && point <= 0x1f); };
  size_t begin = 0, end = 0;  // of what is not white space
  bool seen = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char next = first_character(text.substr(at));
    const bool space = next.kind == Utf8Char::Kind::valid && is_space(next.point);
    at += next.length;
    if (space) continue;
    if (!seen) begin = at - next.length;
    seen = true;
    end = at;
  }
  return text.substr(begin, end - begin);
}

void start_llama3_turn(ChatWriter& writer, std::string_view role) {
  writer.mark("<|start_header_id|>");
  writer.text(role);
  writer.mark("<|end_header_id|>");
  writer.text("\n\n");
}

void llama3_turn(ChatWriter& writer, std::string_view role, std::string_view content) {
  start_llama3_turn(writer, role);
  writer.text(content);
  writer.mark("<|eot_id|>");
}

void llama3(ChatWriter& writer, std::span<const ChatMessage> messages) {
  writer.bos();
  for (const ChatMessage& message : messages) llama3_turn(writer, message.role, trim(message.content));
  start_llama3_turn(writer, "assistant");
}

void llama3_1(ChatWriter& writer, std::span<const ChatMessage> messages) {
  writer.bos();
  std::string system = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  if (messages[0].role == "system") {
    system += trim(messages[0].content);
    messages = messages.subspan(1);
  }
  llama3_turn(writer, "system", system);
  for (const ChatMessage& message : messages) llama3_turn(writer, message.role, trim(message.content));
  start_llama3_turn(writer, "assistant");
}

void check(std::span<const ChatMessage> messages) {
  constexpr std::string_view kRoles[] = {"system", "user", "assistant"};
  if (messages.empty()) throw input_error({"the number of messages", "0", "1 or more"});
  for (size_t i = 0; i < messages.size(); ++i) {
    if (std::find(std::begin(kRoles), std::end(kRoles), messages[i].role) != std::end(kRoles)) continue;
    throw input_error({fmt::format("the role of message {}", i), in_quotes(messages[i].role, 80), "system, user or assistant"});
  }
}

}  // namespace

std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, ChatFormat format, std::span<const ChatMessage> messages) {
  check(messages);
  ChatWriter writer(tokenizer, format);
  switch (format) {
    case ChatFormat::chatml:
      if (tokenizer.adds_bos()) writer.bos();
      chatml(writer, "", messages);
      break;
    case ChatFormat::llama3:
      llama3(writer, messages);
      break;
    case ChatFormat::llama3_1:
      llama3_1(writer, messages);
      break;
    case ChatFormat::qwen2:
      chatml(writer, "You are a helpful assistant.", messages);
      break;
    case ChatFormat::qwen2_5:
      chatml(writer, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", messages);
      break;
    case ChatFormat::qwen3:
      qwen3(writer, messages);
      break;
    case ChatFormat::smollm2:
      chatml(writer, "You are a helpful AI assistant named SmolLM, trained by Hugging Face", messages);
      break;
  }
  return writer.finish();
}

}  // namespace rafter
