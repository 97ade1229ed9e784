#include "rafter/measure/profiles/csv_text.h"

#include "rafter/base/error.h"

namespace rafter {

CsvText::CsvText(std::string_view text, const std::string& path) : text_(text), path_(path) {
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
    throw input_error(
        {in_quotes(path), "text in UTF-16", "UTF-8",
         "PowerShell's '>' writes UTF-16: write the file with 'ncu --log-file' or with Set-Content -Encoding utf8"});
  }
  if (text_.starts_with("\xef\xbb\xbf")) position_ = line_start_ = 3;
}

std::string_view CsvText::rest_of_line() const {
  const std::string_view rest = text_.substr(position_);
  return rest.substr(0, rest.find('\n'));
}

void CsvText::line_break() {
  ++line_;
  line_start_ = ++position_;
}

void CsvText::skip_line() {
  position_ += rest_of_line().size();
  if (!at_end()) line_break();
}

std::string CsvText::quoted_cell(const CsvCell& cell) {
  std::string out;
  ++position_;
  while (!at_end()) {
    const char c = text_[position_];
    if (c == '"') {
      if (text_.substr(position_ + 1, 1) != "\"") {
        ++position_;
        return out;
      }
      ++position_;  // the second of a doubled quote stands for one
    }
    out += c;
    if (c == '\n') {
      line_break();
    } else {
      ++position_;
    }
  }
  throw input_error({fmt::format("{}: the cell at line {}, column {}", in_quotes(path_), cell.line, cell.column),
                     "cut off: its quote is never closed", "a closing quote", "export the file again"});
}

CsvRecord CsvText::read(char delimiter) {
  CsvRecord record;
  record.line = line_;
  while (true) {
    CsvCell cell;
    cell.line = line_;
    cell.column = position_ - line_start_ + 1;
    cell.quoted = !at_end() && text_[position_] == '"';
    if (cell.quoted) cell.text = quoted_cell(cell);
    while (!at_end() && text_[position_] != delimiter && text_[position_] != '\n') cell.text += text_[position_++];
    const bool more = !at_end() && text_[position_] == delimiter;
    if (!more && cell.text.ends_with('\r')) cell.text.pop_back();
    record.cells.push_back(std::move(cell));
    if (!more) break;
    ++position_;
  }
  if (!at_end()) {
    record.complete = true;
    line_break();
  }
  return record;
}

}  // namespace rafter
