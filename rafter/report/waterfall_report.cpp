#include "rafter/report/waterfall_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/base/error.h"
#include "rafter/base/units.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

constexpr size_t kBarWidth = 40;  // characters of the whole step
constexpr size_t kNameWidth = 44;

std::string signed_seconds(double seconds) {
  return seconds < 0 ? "-" + format_seconds(-seconds) : seconds == 0 ? "0" : format_seconds(seconds);
}

// Where a bar lies between 0 and the step, as characters.
std::string drawn(const Bar& bar, double seconds) {
  const auto column = [&](double at) {
    const double share = seconds > 0 ? std::clamp(at / seconds, 0.0, 1.0) : 0;
    return static_cast<size_t>(std::lround(share * static_cast<double>(kBarWidth)));
  };
  const size_t from = column(std::min(bar.from_seconds, bar.from_seconds + bar.seconds));
  const size_t to = column(std::max(bar.from_seconds, bar.from_seconds + bar.seconds));
  if (bar.seconds == 0) return std::string(kBarWidth, ' ');
  const size_t at = std::min(from, kBarWidth - 1);
  std::string text(at, ' ');
  text += std::string(std::max<size_t>(1, to - from), bar.seconds < 0 ? '-' : '#');
  text.resize(kBarWidth, ' ');
  return text;
}

const char* name_of(BarKind kind) {
  static constexpr const char* kNames[] = {"floor", "in_turn", "kernels",  "unknown_kernels",
                                           "gap",   "host",    "recorder", "unexplained"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

std::string waterfall_text(const Waterfall& fall) {
  Table table({{"the step as a sum"}, {""}, {"time", Align::right}, {"share", Align::right}, {""}});
  for (const Bar& bar : fall.bars) {
    const bool is_kernel = bar.kind == BarKind::kernels || bar.kind == BarKind::unknown_kernels;
    table.add({printable(bar.name, kNameWidth), is_kernel ? name(bar.kind) : "", signed_seconds(bar.seconds),
               format_share(bar.seconds, fall.seconds), "|" + drawn(bar, fall.seconds) + "|"});
  }
  Bar all;
  all.seconds = fall.seconds;
  table.add({"the step", "", format_seconds(fall.seconds), "100.0%", "|" + drawn(all, fall.seconds) + "|"});
  return table.text();
}

WaterfallChart waterfall_chart(const Waterfall& fall) {
  WaterfallChart chart{"The step as a sum", "s", {}};
  for (const Bar& bar : fall.bars) {
    chart.bars.push_back({bar.name, bar.seconds, name(bar.kind), {format_share(bar.seconds, fall.seconds) + " of the step"}});
  }
  chart.bars.push_back({"the step", fall.seconds, "measured", {}, true});
  return chart;
}

Json waterfall_json(const Waterfall& fall) {
  Json bars = Json::array();
  for (const Bar& bar : fall.bars) {
    bars.push_back({{"kind", name_of(bar.kind)}, {"name", bar.name}, {"time_s", number_or_null(bar.seconds)}});
  }
  return bars;
}

}  // namespace rafter
