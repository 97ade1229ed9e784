// A traced step as a table for people and as JSON.
#pragma once

#include <string>

#include "rafter/engine/engine.h"
#include "rafter/measure/trace.h"

namespace rafter {

// A line that says what was traced, the table with each op's floor and how near it comes ("-" without roofs), totals, the gap
// between the ops and the step, and how it was measured. With `layers` every op has its row; else ops alike are one row, with
// their count.
std::string trace_text(const Engine& engine, const StepTrace& trace, bool layers);

// Schema "rafter.trace/1": every op, unfolded.
std::string trace_json(const Engine& engine, const StepTrace& trace, const std::string& command);

}  // namespace rafter
