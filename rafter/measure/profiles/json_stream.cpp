#include "rafter/measure/profiles/json_stream.h"

#include <algorithm>

#include "rafter/base/error.h"

namespace rafter {

namespace {

constexpr size_t kLargestPiece = size_t{16} << 20;
constexpr size_t kMaxDepth = 64;

// Control characters inside strings become blanks, and where the whole is not UTF-8, all that is not ASCII question marks.
void mend(std::string& json) {
  bool inside = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') inside = !inside;
    if (json[i] == '\\' && inside) ++i;
    if (i < json.size() && inside && static_cast<unsigned char>(json[i]) < 0x20) json[i] = ' ';
  }
  if (simdjson::validate_utf8(json.data(), json.size())) return;
  std::replace_if(
      json.begin(), json.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonStream::JsonStream(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {
  if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
}

void JsonStream::refuse(size_t at, const std::string& value, const std::string& expected) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0: the first line
  throw input_error({fmt::format("{}: the JSON at line {}, column {}", in_quotes(path_), line, column), value, expected,
                     at >= text_.size() ? "the file was cut off: copy or export it again" : "export the file again"});
}

void JsonStream::skip_blanks() {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
}

char JsonStream::peek() {
  skip_blanks();
  if (position_ >= text_.size()) refuse(text_.size(), "at its end", "more JSON");
  return text_[position_];
}

void JsonStream::expect(char c, const char* what) {
  if (peek() != c) refuse(position_, in_quotes(text_.substr(position_, 12)), what);
  ++position_;
}

// A quote ends a text unless an odd number of backslashes stands before it.
size_t JsonStream::end_of_string(size_t at) const {
  for (size_t quote = text_.find('"', at + 1); quote != std::string_view::npos; quote = text_.find('"', quote + 1)) {
    size_t escapes = 0;
    while (text_[quote - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) return quote + 1;
  }
  refuse(text_.size(), fmt::format("the end of the file inside the text that begins at byte {}", at), "a closing quote");
}

// Brackets are counted, not matched: the parser that gets the piece sees to that.
size_t JsonStream::end_of_value(size_t at) const {
  size_t depth = 0;
  for (size_t i = at; i < text_.size();) {
    const char c = text_[i];
    if (c == '"') {
      i = end_of_string(i);
      if (depth == 0) return i;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_blank(c))) return i;
    ++i;
    if ((c == '}' || c == ']') && --depth == 0) return i;
  }
  refuse(text_.size(), fmt::format("the end of the file inside the value that begins at byte {}", at), "its end");
}

std::string_view JsonStream::take_value() {
  peek();
  const size_t start = position_;
  position_ = end_of_value(start);
  return text_.substr(start, position_ - start);
}

simdjson::dom::element JsonStream::parse(std::string_view piece) {
  const auto at = static_cast<size_t>(piece.data() - text_.data());
  if (piece.size() > kLargestPiece) {
    refuse(at, fmt::format("a value of {} bytes", piece.size()), fmt::format("{} bytes or less in one value", kLargestPiece));
  }
  buffer_.assign(piece);
  buffer_.append(simdjson::SIMDJSON_PADDING, ' ');
  simdjson::dom::element value;
  simdjson::error_code error = simdjson::SUCCESS;
  if (parser_.capacity() < piece.size()) error = parser_.allocate(std::max<size_t>(2 * piece.size(), 4096), kMaxDepth);
  if (error == simdjson::SUCCESS) error = parser_.parse(buffer_.data(), piece.size(), false).get(value);
  if (error == simdjson::UNESCAPED_CHARS || error == simdjson::UTF8_ERROR) {
    mend(buffer_);
    error = parser_.parse(buffer_.data(), piece.size(), false).get(value);
  }
  if (error != simdjson::SUCCESS) {
    refuse(at, fmt::format("not readable ({})", simdjson::error_message(error)), "a JSON value");
  }
  return value;
}

void JsonStream::read_list(std::string_view key, const Element& element) {
  expect('[', "'[', a list");
  if (peek() == ']') {
    ++position_;
    return;
  }
  while (true) {
    if (peek() == ']') break;  // after a last comma, which hand-joined traces have
    element(key, parse(take_value()));
    if (peek() == ']') break;
    expect(',', "',' or ']' after an element");
  }
  ++position_;
}

void JsonStream::read(std::initializer_list<std::string_view> lists, const Element& element, const Member& member) {
  if (peek() == '[') {
    read_list("", element);
  } else {
    expect('{', "'{', an object");
    while (peek() != '}') {
      if (peek() != '"') refuse(position_, in_quotes(text_.substr(position_, 12)), "a key in quotes");
      const std::string_view key = text_.substr(position_ + 1, end_of_string(position_) - position_ - 2);
      position_ += key.size() + 2;
      expect(':', "':' after a key");
      if (std::find(lists.begin(), lists.end(), key) != lists.end() && peek() == '[') {
        read_list(key, element);
      } else if (const std::string_view value = take_value(); value.size() <= kLargestPiece) {
        member(key, parse(value));
      }
      if (peek() == '}') break;
      expect(',', "',' or '}' after a member");
    }
    ++position_;
  }
  skip_blanks();
  if (position_ < text_.size()) refuse(position_, in_quotes(text_.substr(position_, 12)), "nothing after the JSON");
}

}  // namespace rafter
