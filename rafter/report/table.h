// A table of text, drawn for a terminal, as Markdown or as CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rafter {

enum class Align : unsigned char { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell for every column; missing ones are empty.
  void add(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& cells() const { return rows_; }  // as many in each row as there are columns

  std::string text() const;      // columns aligned, two blanks between them
  std::string markdown() const;  // as llama-bench draws it
  std::string csv() const;       // RFC 4180, with a line of titles

 private:
  std::vector<size_t> widths() const;
  std::string padded(size_t column, std::string_view cell, size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rafter
