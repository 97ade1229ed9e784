// Figures of a machine as what a page draws: curves by an axis, tables of values, the roofs of a roofline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rafter/machine/machine.h"
#include "rafter/report/page.h"

namespace rafter {

// The figures of one name and state over one of their axes.
Curve figure_curve(const Machine& machine, std::string_view name, std::string_view axis, std::string_view state = {});

// Figures of those names that begin with `prefix`, one a row: name, state, value, spread, clock, remark.
Table figure_table(const Machine& machine, std::string_view prefix);

// Capacities found on a curve, as marks with their sizes.
std::vector<Mark> capacity_marks(const Machine& machine, std::string_view state);

// The memory and compute roofs, measured and from the datasheet, with no point yet.
RooflineChart roofs_chart(const Machine& machine);

// A page as text for a terminal: titles, paragraphs and tables; a chart is its summary.
std::string page_text(const Page& page);

}  // namespace rafter
