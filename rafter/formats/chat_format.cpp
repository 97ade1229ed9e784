// The names of the chat formats, and how a model's template gives its format away.
#include <algorithm>

#include "rafter/base/error.h"
#include "rafter/formats/chat.h"

namespace rafter {

namespace {

struct NamedFormat {
  ChatFormat format;
  std::string_view name;
};
constexpr NamedFormat kFormats[] = {
    {ChatFormat::chatml, "chatml"},   {ChatFormat::llama3, "llama3"},   {ChatFormat::llama3_1, "llama3.1"},
    {ChatFormat::qwen2, "qwen2"},     {ChatFormat::qwen2_5, "qwen2.5"}, {ChatFormat::qwen3, "qwen3"},
    {ChatFormat::smollm2, "smollm2"},
};

std::string all_names() {
  std::string names;
  for (const NamedFormat& entry : kFormats) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A template in one spelling: authors differ in their quotes, in m.role or m['role'], in spaces, and in whether a line end
// inside a Jinja string is written as \n or as itself.
class Marks {
 public:
  explicit Marks(std::string_view jinja) : text_(jinja) {
    std::replace(text_.begin(), text_.end(), '"', '\'');
    replace_all(text_, "\\n", "\n");
    replace_all(text_, "message['role']", "message.role");
    replace_all(text_, "message['content']", "message.content");
    packed_ = text_;
    std::erase(packed_, ' ');
  }
  bool has(std::string_view mark) const { return text_.find(mark) != std::string::npos; }
  bool has_but_for_spaces(std::string_view mark) const { return packed_.find(mark) != std::string::npos; }

  // Whether the template writes a system message of its own where there are no tools: the mark that starts one is followed
  // by words, or by the end of its statement, which only a branch for tools may have.
  bool brings_system_message() const {
    constexpr std::string_view kStart = "<|im_start|>system\n";
    for (size_t at = packed_.find(kStart); at != std::string::npos; at = packed_.find(kStart, at + 1)) {
      const std::string_view before = std::string_view(packed_).substr(0, at),
                             after = std::string_view(packed_).substr(at + kStart.size());
      const bool ends = after.starts_with("'}}") || after.starts_with("'-}}");
      const bool for_tools = before.ends_with("iftools%}\n{{-'") || before.ends_with("iftools%}{{'");
      if (ends ? !for_tools : !after.starts_with("'") && !after.starts_with("{")) return true;
    }
    return false;
  }

 private:
  std::string text_, packed_;
};

bool is_llama3(const Marks& marks) {
  return marks.has_but_for_spaces(
             "'<|start_header_id|>'+message.role+'<|end_header_id|>\n\n'+message.content|trim+'<|eot_id|>'") &&
         marks.has_but_for_spaces("'<|start_header_id|>assistant<|end_header_id|>\n\n'}}");
}

bool is_chatml_kind(const Marks& marks) {
  return marks.has("<|im_start|>") && marks.has("<|im_end|>") && !marks.has("<|im_sep|>") &&
         marks.has("<|im_start|>assistant\n");
}

bool system_message_is(const Marks& marks, const std::string& text) {
  return marks.has("<|im_start|>system\n" + text + "<|im_end|>");
}

// Models that were taught to answer in their thoughts first have a template that opens them for the assistant.
bool opens_thoughts(const Marks& marks) {
  return marks.has_but_for_spaces("<think>\n'}}") || marks.has_but_for_spaces("<think>\n'-}}");
}

}  // namespace

std::string_view name(ChatFormat format) {
  for (const NamedFormat& entry : kFormats) {
    if (entry.format == format) return entry.name;
  }
  return "";
}

ChatFormat chat_format_named(std::string_view name) {
  for (const NamedFormat& entry : kFormats) {
    if (entry.name == name) return entry.format;
  }
  throw input_error({"the chat format (--chat-template)", in_quotes(name, 80), "one of " + all_names()});
}

ChatFormat recognise_chat_format(std::string_view jinja_template) {
  const Marks marks(jinja_template);
  if (is_llama3(marks)) return marks.has("Cutting Knowledge Date: December 2023\n") ? ChatFormat::llama3_1 : ChatFormat::llama3;
  if (is_chatml_kind(marks)) {
    if (system_message_is(marks, "You are a helpful AI assistant named SmolLM, trained by Hugging Face")) {
      return ChatFormat::smollm2;
    }
    if (system_message_is(marks, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")) {
      return ChatFormat::qwen2_5;
    }
    if (system_message_is(marks, "You are a helpful assistant.")) return ChatFormat::qwen2;
    if (marks.has("enable_thinking is defined and enable_thinking is false") && !opens_thoughts(marks)) {
      return ChatFormat::qwen3;
    }
    if (!marks.has("think") && !marks.brings_system_message()) return ChatFormat::chatml;
  }
  const std::string what = jinja_template.empty() ? "missing" : "not one that Rafter knows: " + in_quotes(jinja_template, 120);
  throw input_error({"the model's chat template", what, "one of " + all_names(), "name the nearest with --chat-template NAME"});
}

}  // namespace rafter
