// A step as a sum, for a terminal, for a page and as JSON.
#pragma once

#include <string>

#include "rafter/base/json_value.h"
#include "rafter/measure/recording/waterfall.h"
#include "rafter/report/chart.h"

namespace rafter {

// A line for each bar: its name, time, share of the step, and where it lies between nothing and the whole step, '#' for what is
// added and '-' for what is taken off. The last line is the step.
std::string waterfall_text(const Waterfall& fall);

WaterfallChart waterfall_chart(const Waterfall& fall);

// [{"kind", "name", "time_s"}], in order.
Json waterfall_json(const Waterfall& fall);

}  // namespace rafter
