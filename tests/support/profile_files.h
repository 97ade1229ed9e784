// Small Nsight Compute tables, written cell by cell so that a test shows only what it is about.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace rafter::test {

inline std::string csv_row(std::initializer_list<std::string_view> cells) {
  std::string row;
  for (const std::string_view cell : cells) {
    row += row.empty() ? "\"" : ",\"";
    for (const char c : cell) row += c == '"' ? "\"\"" : std::string(1, c);
    row += '"';
  }
  return row + '\n';
}

inline std::string details_titles() {
  return csv_row({"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
                  "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value"});
}

inline std::string details_row(std::string_view id, std::string_view kernel, std::string_view metric, std::string_view unit,
                               std::string_view value) {
  return csv_row(
      {id, "71", "app", "host", kernel, "1", "7", "(256, 1, 1)", "(132, 2, 1)", "0", "9.0", "Section", metric, unit, value});
}

}  // namespace rafter::test
