#include "rafter/measure/profiles/locale_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace rafter {

namespace {

using namespace std::string_view_literals;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Blanks and apostrophes of every locale that groups digits by them, as one blank each. A no-break space in Latin-1 is one
// byte, which UTF-8 has nowhere by itself.
std::string with_plain_blanks(std::string_view cell) {
  static constexpr std::array kBlanks = {"\xc2\xa0"sv, "\xe2\x80\xaf"sv, "\xe2\x80\x89"sv, "\xe2\x80\x99"sv, "\xa0"sv, "'"sv};
  std::string out;
  while (!cell.empty()) {
    const auto blank = std::find_if(kBlanks.begin(), kBlanks.end(), [&](std::string_view b) { return cell.starts_with(b); });
    out += blank == kBlanks.end() ? cell[0] : ' ';
    cell.remove_prefix(blank == kBlanks.end() ? 1 : blank->size());
  }
  const size_t first = out.find_first_not_of(" \t"), last = out.find_last_not_of(" \t%");
  return first == std::string::npos || last == std::string::npos || last < first ? "" : out.substr(first, last - first + 1);
}

// A number taken apart: sign, digits and separators, exponent. Empty digits where it is no number in any locale.
struct Parts {
  bool negative = false;
  std::string digits;  // with ',', '.' and ' ' between
  std::string exponent;
};

Parts take_apart(std::string_view cell) {
  std::string text = with_plain_blanks(cell);
  Parts parts;
  if (text.starts_with('-') || text.starts_with('+')) {
    parts.negative = text[0] == '-';
    text.erase(0, 1);
  }
  if (const size_t e = text.find_first_of("eE"); e != std::string::npos) {
    parts.exponent = text.substr(e + 1);
    text.resize(e);
    if (parts.exponent.starts_with('+')) parts.exponent.erase(0, 1);
    const size_t sign = parts.exponent.starts_with('-') ? 1 : 0;
    const bool good = parts.exponent.size() > sign &&
                      std::all_of(parts.exponent.begin() + static_cast<ptrdiff_t>(sign), parts.exponent.end(), is_digit);
    if (!good) return {};
  }
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.' || c == ',' || c == ' '; });
  if (plain && !text.empty() && is_digit(text.back()) && (is_digit(text[0]) || text[0] == '.' || text[0] == ','))
    parts.digits = text;
  return parts;
}

// Groups of three, or of two before the last as in India.
bool is_grouped(std::string_view whole, char separator) {
  bool last = true;
  while (true) {
    const size_t at = whole.rfind(separator);
    const std::string_view group = at == std::string_view::npos ? whole : whole.substr(at + 1);
    if (!std::all_of(group.begin(), group.end(), is_digit)) return false;
    if (at == std::string_view::npos) return !group.empty() && group.size() <= 3 && (group[0] != '0' || last);
    if (last ? group.size() != 3 : group.size() != 3 && group.size() != 2) return false;
    whole = whole.substr(0, at);
    last = false;
  }
}

// The digits with '.' for `decimal` and without grouping; nothing where they are not grouped as numbers are.
std::optional<std::string> plain_digits(std::string_view digits, char decimal) {
  const size_t point = digits.find(decimal);
  std::string_view whole = digits.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view() : digits.substr(point + 1);
  if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return std::nullopt;
  const size_t separator = whole.find_first_not_of("0123456789");
  if (separator != std::string_view::npos && !is_grouped(whole, whole[separator])) return std::nullopt;
  std::string out;
  std::copy_if(whole.begin(), whole.end(), std::back_inserter(out), is_digit);
  return (out.empty() ? "0" : out) + (fraction.empty() ? "" : '.' + std::string(fraction));
}

}  // namespace

void NumberStyle::see(std::string_view cell) {
  const std::string digits = take_apart(cell).digits;
  if (digits.find_first_of(".,") == std::string::npos) return;
  const bool as_dot = plain_digits(digits, '.').has_value(), as_comma = plain_digits(digits, ',').has_value();
  if (as_dot && as_comma && ambiguous_.empty()) ambiguous_ = cell;
  dot_votes_ += as_dot && !as_comma ? 1 : 0;
  comma_votes_ += as_comma && !as_dot ? 1 : 0;
}

std::optional<double> NumberStyle::parse(std::string_view cell) const {
  const Parts parts = take_apart(cell);
  if (parts.digits.empty()) return std::nullopt;
  const auto digits = plain_digits(parts.digits, decimal());
  if (!digits) return std::nullopt;
  const std::string text = parts.exponent.empty() ? *digits : *digits + 'e' + parts.exponent;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return parts.negative ? -value : value;
}

}  // namespace rafter
