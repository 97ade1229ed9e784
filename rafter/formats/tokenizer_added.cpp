#include "rafter/formats/tokenizer_added.h"

#include <algorithm>

#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

size_t after_spaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Char next = first_character(text.substr(at));
    if (!is_white_space(next.point)) break;
    at += next.length;
  }
  return at;
}

// Where the white space that ends at `end` begins, not before `begin`.
size_t before_spaces(std::string_view text, size_t begin, size_t end) {
  while (end > begin) {
    size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
    const Utf8Char last = first_character(text.substr(at, end - at));
    if (at + last.length != end || !is_white_space(last.point)) break;
    end = at;
  }
  return end;
}

}  // namespace

void AddedTokens::add(std::string_view text, const AddedToken& token) {
  if (!by_text_.emplace(text, token).second) return;
  starts_[static_cast<unsigned char>(text[0])] = true;
  const auto at = std::lower_bound(lengths_.begin(), lengths_.end(), text.size(), std::greater<>());
  if (at == lengths_.end() || *at != text.size()) lengths_.insert(at, text.size());
}

std::optional<int32_t> AddedTokens::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  if (found == by_text_.end()) return std::nullopt;
  return found->second.id;
}

AddedTokens::Match AddedTokens::longest_at(std::string_view text, size_t at) const {
  if (!starts_[static_cast<unsigned char>(text[at])]) return {};
  for (const size_t length : lengths_) {
    if (length > text.size() - at) continue;
    const auto found = by_text_.find(text.substr(at, length));
    if (found != by_text_.end()) return {&found->second, length};
  }
  return {};
}

void AddedTokens::scan(std::string_view text, const std::function<void(std::string_view)>& on_text,
                       const std::function<void(int32_t)>& on_token) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const Match match = longest_at(text, at);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    const size_t begin = match.token->eats_space_before ? before_spaces(text, done, at) : at;
    const size_t end = match.token->eats_space_after ? after_spaces(text, at + match.length) : at + match.length;
    if (begin > done) on_text(text.substr(done, begin - done));
    on_token(match.token->id);
    at = done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

}  // namespace rafter
