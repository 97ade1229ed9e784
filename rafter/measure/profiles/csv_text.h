// Comma-separated text inside a stream of other lines: a profiler prints its table where the program prints its own output.
//
// The reader goes line by line and leaves it to the caller to say which lines begin a record; a quoted cell may then run
// over several lines. Positions are kept for errors: lines and columns from 1, columns in bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

struct CsvCell {
  std::string text;
  size_t line = 0, column = 0;
  bool quoted = false;
};

struct CsvRecord {
  std::vector<CsvCell> cells;
  size_t line = 0;
  bool complete = false;  // a line break ends it, not the end of the text
};

class CsvText {
 public:
  // `path` is for messages. Text in UTF-16 is an input Error that says so; a byte order mark of UTF-8 is passed over.
  CsvText(std::string_view text, const std::string& path);

  bool at_end() const { return position_ >= text_.size(); }
  size_t line() const { return line_; }
  std::string_view rest_of_line() const;
  void skip(size_t bytes) { position_ += bytes; }  // within a line
  void skip_line();

  // The record that begins here. An input Error where a quote is never closed.
  CsvRecord read(char delimiter);

 private:
  void line_break();
  std::string quoted_cell(const CsvCell& cell);

  std::string_view text_;
  std::string path_;
  size_t position_ = 0, line_ = 1, line_start_ = 0;
};

}  // namespace rafter
