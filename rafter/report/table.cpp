#include "rafter/report/table.h"

#include <algorithm>

namespace rafter {

namespace {

// Characters, for text whose characters are all one column wide.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return line + '\n';
}

std::string markdown_cell(const std::string& cell) {
  std::string out;
  for (const char c : cell) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::string Table::padded(size_t column, std::string_view cell, size_t width) const {
  const std::string blanks(width - std::min(width, width_of(cell)), ' ');
  return columns_[column].align == Align::left ? std::string(cell) + blanks : blanks + std::string(cell);
}

std::string Table::text() const {
  const std::vector<size_t> width = widths();
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (size_t i = 0; i < columns_.size(); ++i) text += (i > 0 ? "  " : "") + padded(i, cell_of(i), width[i]);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line([&](size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) line([&](size_t i) { return row[i]; });
  return out;
}

std::string Table::markdown() const {
  std::vector<size_t> width = widths();
  std::string out = "|", rule = "|";
  for (size_t i = 0; i < columns_.size(); ++i) {
    width[i] = std::max<size_t>(width[i], 3);
    out += ' ' + padded(i, columns_[i].title, width[i]) + " |";
    rule += ' ' + std::string(width[i] - 1, '-') + (columns_[i].align == Align::right ? ": |" : "- |");
  }
  out += '\n' + rule + '\n';
  for (const auto& row : rows_) {
    out += '|';
    for (size_t i = 0; i < columns_.size(); ++i) out += ' ' + padded(i, markdown_cell(row[i]), width[i]) + " |";
    out += '\n';
  }
  return out;
}

std::string Table::csv() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = csv_line(titles);
  for (const auto& row : rows_) out += csv_line(row);
  return out;
}

}  // namespace rafter
