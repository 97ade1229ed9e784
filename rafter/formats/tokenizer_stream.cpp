// Text of a token stream, a whole number of characters at a time.
#include "rafter/formats/tokenizer.h"
#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Moves from `pending` what can be shown: valid characters, and U+FFFD for what no further byte can make valid. The start of
// a character stays, unless the text is at its end.
std::string take_characters(std::string& pending, bool at_end) {
  std::string shown;
  size_t at = 0;
  while (at < pending.size()) {
    const Utf8Char next = first_character(std::string_view(pending).substr(at));
    if (next.kind == Utf8Char::Kind::truncated && !at_end) break;
    if (next.kind == Utf8Char::Kind::valid) {
      shown.append(pending, at, next.length);
    } else {
      shown += kReplacement;
    }
    at += next.length;
  }
  pending.erase(0, at);
  return shown;
}

}  // namespace

std::string StreamDecoder::push(int32_t token) {
  const std::string_view bytes = tokenizer_->bytes(token);  // checks the id of special tokens too
  if (tokenizer_->is_special(token)) return {};
  pending_ += bytes;
  return take_characters(pending_, false);
}

std::string StreamDecoder::finish() { return take_characters(pending_, true); }

}  // namespace rafter
