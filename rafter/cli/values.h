// Options whose values are numbers, read with errors that name the flag, the value and the range.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

struct Range {
  int64_t low, high;
};

// An input Error where `text` is no whole number of the range.
int64_t parse_integer(std::string_view flag, std::string_view text, Range range);
// An input Error where `text` is no number. "nan" and "inf" are numbers here: whoever takes the value judges it.
double parse_number(std::string_view flag, std::string_view text);
// Whole numbers with commas between them.
std::vector<int64_t> parse_list(std::string_view flag, std::string_view text, Range range);

// Options of those kinds. `names` as CLI11 takes them, "-n,--n-predict"; errors name the first.
CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& value, Range range, const std::string& about);
CLI::Option* add_number(CLI::App& app, const std::string& names, double& value, const std::string& about);
CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values, Range range,
                      const std::string& about);

}  // namespace rafter
