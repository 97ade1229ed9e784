// A large JSON object taken apart without holding it as a tree: its members are found by counting brackets, and the one list
// that makes it large is handed out element by element. Each piece is then parsed by itself, in memory that is used again.
//
// Pieces are mended as some profilers need it: raw control characters inside strings are read as blanks, and text
// that is not UTF-8 as question marks.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace rafter {

class JsonStream {
 public:
  // `path` is for messages. Errors are input Errors with line and column.
  JsonStream(std::string_view text, std::string path);

  // For each member of the top-level object, in order: where it is named in `lists` and is a list, `element` is called for
  // each of its elements; else `member` with the parsed value, unless it is over 16 MiB, and so of no use here. Where the
  // whole text is a list, `element` is called with an empty key. A value lives until the next call.
  using Element = std::function<void(std::string_view key, simdjson::dom::element)>;
  using Member = std::function<void(std::string_view key, simdjson::dom::element)>;
  void read(std::initializer_list<std::string_view> lists, const Element& element, const Member& member);

 private:
  void skip_blanks();
  char peek();  // after blanks; an error at the end
  void expect(char c, const char* what);
  size_t end_of_string(size_t at) const;
  size_t end_of_value(size_t at) const;
  std::string_view take_value();
  simdjson::dom::element parse(std::string_view piece);
  void read_list(std::string_view key, const Element& element);
  [[noreturn]] void refuse(size_t at, const std::string& value, const std::string& expected) const;

  std::string_view text_;
  std::string path_;
  size_t position_ = 0;
  simdjson::dom::parser parser_;
  std::string buffer_;
};

}  // namespace rafter
