#include "rafter/measure/profiles/metric_unit.h"

#include <array>
#include <string>

namespace rafter {

namespace {

struct Base {
  std::string_view word;
  Dimension dimension;
};

// Longer words first: "second" before "s", "sector" before neither.
constexpr std::array kBases = {
    Base{"instruction", Dimension::count}, Base{"register", Dimension::count}, Base{"sector", Dimension::count},
    Base{"request", Dimension::count},     Base{"second", Dimension::seconds}, Base{"thread", Dimension::count},
    Base{"cycle", Dimension::count},       Base{"block", Dimension::count},    Base{"inst", Dimension::count},
    Base{"warp", Dimension::count},        Base{"byte", Dimension::bytes},     Base{"sec", Dimension::seconds},
    Base{"hz", Dimension::hertz},          Base{"Hz", Dimension::hertz},       Base{"B", Dimension::bytes},
    Base{"s", Dimension::seconds},
};

std::optional<double> prefix(std::string_view text) {
  if (text.empty()) return 1;
  if (text == "n") return 1e-9;
  if (text == "u" || text == "\xc2\xb5" || text == "\xce\xbc") return 1e-6;
  if (text == "m") return 1e-3;
  if (text == "K" || text == "k") return 1e3;
  if (text == "M") return 1e6;
  if (text == "G") return 1e9;
  if (text == "T") return 1e12;
  if (text == "Ki") return 1024;
  if (text == "Mi") return 1024.0 * 1024;
  if (text == "Gi") return 1024.0 * 1024 * 1024;
  return std::nullopt;
}

std::optional<MetricUnit> parse_term(std::string_view term) {
  if (term.empty() || term == "1") return MetricUnit{};
  if (term == "%") return MetricUnit{Dimension::percent, 1};
  const bool plural = term.size() > 3 && term.ends_with('s');
  for (const std::string_view word : {term, plural ? term.substr(0, term.size() - 1) : term}) {
    for (const Base& base : kBases) {
      if (!word.ends_with(base.word)) continue;
      if (const auto scale = prefix(word.substr(0, word.size() - base.word.size()))) return MetricUnit{base.dimension, *scale};
    }
  }
  return std::nullopt;
}

Dimension quotient(Dimension above, Dimension below) {
  if (below == Dimension::count) return above == Dimension::count ? Dimension::count : Dimension::other;
  if (below == Dimension::seconds && above == Dimension::bytes) return Dimension::bytes_per_second;
  if (below == Dimension::seconds && above == Dimension::count) return Dimension::hertz;
  return Dimension::other;
}

}  // namespace

std::optional<MetricUnit> parse_metric_unit(std::string_view unit) {
  const size_t slash = unit.find('/');
  const auto above = parse_term(unit.substr(0, slash));
  if (!above || slash == std::string_view::npos) return above;
  const auto below = parse_term(unit.substr(slash + 1));
  if (!below) return std::nullopt;
  return MetricUnit{quotient(above->dimension, below->dimension), above->scale / below->scale};
}

}  // namespace rafter
