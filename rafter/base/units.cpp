#include "rafter/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace rafter {

namespace {

std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  return fmt::format("{:.{}f}", value, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0);
}

// The smallest magnitude that three digits show as `whole` of a unit: it belongs to the next one.
double rounds_to(double whole) { return whole - 0.5; }

std::string scaled(double value, double step, const std::array<const char*, 6>& prefixes, const std::string& unit) {
  size_t i = 0;
  while (std::fabs(value) >= rounds_to(step) && i + 1 < prefixes.size()) {
    value /= step;
    ++i;
  }
  return three_digits(value) + " " + prefixes[i] + unit;
}

}  // namespace

std::string format_si(double value, const char* unit) { return scaled(value, 1000.0, {"", "k", "M", "G", "T", "P"}, unit); }

std::string format_bytes(double bytes) { return format_si(bytes, "B"); }

std::string format_rate(double per_second, const char* unit) { return format_si(per_second, unit) + "/s"; }

std::string format_capacity(int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024.0, {"", "Ki", "Mi", "Gi", "Ti", "Pi"}, "B");
}

std::string format_seconds(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude * 1e9 < rounds_to(1000)) return three_digits(seconds * 1e9) + " ns";
  if (magnitude * 1e6 < rounds_to(1000)) return three_digits(seconds * 1e6) + " us";
  if (magnitude * 1e3 < rounds_to(1000)) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string format_share(double part, double whole) { return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-"; }

std::string counted(int64_t count, const char* thing) {
  std::string text = fmt::format("{} {}", count, thing);
  if (count == 1) return text;
  if (text.back() == 'y' && std::string_view("aeiou").find(text[text.size() - 2]) == std::string_view::npos) {
    text.back() = 'i';
    return text + "es";
  }
  return text + (text.ends_with("ch") ? "es" : "s");
}

}  // namespace rafter
