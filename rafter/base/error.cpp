#include "rafter/base/error.h"

#include <cctype>

namespace rafter {

std::string compose(const ErrorParts& parts) {
  std::string message = parts.thing;
  if (!parts.value.empty()) message += " is " + parts.value;
  if (!parts.expected.empty()) message += "; expected " + parts.expected;
  message += '.';
  if (!parts.remedy.empty()) {
    std::string remedy = parts.remedy;
    remedy[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(remedy[0])));
    message += ' ' + remedy;
    if (message.back() != '.') message += '.';
  }
  return message;
}

namespace {

// Length of the valid UTF-8 sequence at the start of `text`, or 0 where there is none.
size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : (lead >> 5) == 0x6 ? 2 : (lead >> 4) == 0xe ? 3 : (lead >> 3) == 0x1e ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) >> 6) != 0x2) return 0;
  }
  return length;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "...";
    const size_t length = sequence_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string in_quotes(std::string_view text, size_t limit) { return fmt::format("'{}'", printable(text, limit)); }

}  // namespace rafter
