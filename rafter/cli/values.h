// Options and their values, read with errors that name the flag, the value and what was expected.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

struct Range {
  int64_t low, high;
};

// An input Error where `text` is no whole number of the range.
int64_t parse_integer(std::string_view flag, std::string_view text, Range range);
// An input Error where `text` is no finite number.
double parse_number(std::string_view flag, std::string_view text);
// Whole numbers with commas between them.
std::vector<int64_t> parse_list(std::string_view flag, std::string_view text, Range range);

// Options of those kinds. `names` as CLI11 takes them, "-n,--n-predict"; errors name the first.
CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& value, Range range, const std::string& about);
CLI::Option* add_number(CLI::App& app, const std::string& names, double& value, const std::string& about);
CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values, Range range,
                      const std::string& about);
// A word that may not be empty: a name, a path.
CLI::Option* add_word(CLI::App& app, const std::string& names, std::string& value, const std::string& type,
                      const std::string& about);

// An input Error where `option` was given together with one of `others`, which it would leave without effect.
void refuse_together(const CLI::App& command, const std::string& option, std::initializer_list<const char*> others);

}  // namespace rafter
