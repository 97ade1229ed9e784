#include "rafter/cli/values.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "rafter/base/error.h"

namespace rafter {

namespace {

std::string first_name(const std::string& names) { return names.substr(0, names.find(',')); }

// A bound that nobody meets is left out, but where it is what was met.
std::string range_text(Range range, bool beyond_any) {
  const bool open = range.high == std::numeric_limits<int64_t>::max();
  return open && !beyond_any ? fmt::format("a whole number of {} or more", range.low)
                             : fmt::format("a whole number, {} to {}", range.low, range.high);
}

}  // namespace

int64_t parse_integer(std::string_view flag, std::string_view text, Range range) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || value < range.low || value > range.high) {
    throw input_error({std::string(flag), in_quotes(text, 40), range_text(range, status == std::errc::result_out_of_range)});
  }
  return value;
}

double parse_number(std::string_view flag, std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || std::isspace(static_cast<unsigned char>(copy[0]))) {
    throw input_error({std::string(flag), in_quotes(text, 40), "a number"});
  }
  if (!std::isfinite(value)) throw input_error({std::string(flag), in_quotes(text, 40), "a finite number"});
  return value;
}

std::vector<int64_t> parse_list(std::string_view flag, std::string_view text, Range range) {
  std::vector<int64_t> values;
  for (;;) {
    const size_t comma = text.find(',');
    values.push_back(parse_integer(flag, text.substr(0, comma), range));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& value, Range range, const std::string& about) {
  const auto read = [flag = first_name(names), &value, range](const std::string& text) {
    value = parse_integer(flag, text, range);
  };
  return app.add_option_function<std::string>(names, read, about)->type_name("N");
}

CLI::Option* add_number(CLI::App& app, const std::string& names, double& value, const std::string& about) {
  const auto read = [flag = first_name(names), &value](const std::string& text) { value = parse_number(flag, text); };
  return app.add_option_function<std::string>(names, read, about)->type_name("X");
}

CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<int64_t>& values, Range range,
                      const std::string& about) {
  const auto read = [flag = first_name(names), &values, range](const std::string& text) {
    values = parse_list(flag, text, range);
  };
  return app.add_option_function<std::string>(names, read, about)->type_name("N,...");
}

CLI::Option* add_word(CLI::App& app, const std::string& names, std::string& value, const std::string& type,
                      const std::string& about) {
  const auto read = [flag = first_name(names), type, &value](const std::string& text) {
    if (text.empty()) throw input_error({flag, "empty", flag + ' ' + type});
    value = text;
  };
  return app.add_option_function<std::string>(names, read, about)->type_name(type);
}

void refuse_together(const CLI::App& command, const std::string& option, std::initializer_list<const char*> others) {
  if (command.count(option) == 0) return;
  for (const char* other : others) {
    if (command.count(other) > 0) throw input_error({other, "given together with " + option, "one of the two"});
  }
}

}  // namespace rafter
