// Nsight Compute's tables: `ncu --csv`, with `--page raw` (a row a kernel, the units in a row below the titles), with
// `--page details` or `--metrics` (a row a metric), or with `--print-summary` (a row a metric of all launches of a kernel).
//
// What is tolerated: the profiler's own ==PROF== lines and the program's output around and between the rows, titles that come
// again, units in base or scaled form, any locale's numbers, cells that hold nothing, and tables that a spreadsheet
// saved with semicolons or tabs. A row that is cut off is an error: numbers would be missing without a word.
#pragma once

#include <string>
#include <string_view>

#include "rafter/measure/profiles/profile.h"

namespace rafter {

// Whether some line near the beginning names the columns of such a table.
bool looks_like_ncu_csv(std::string_view text);

// `path` is for messages and for Profile::path.
Profile read_ncu_csv(std::string_view text, const std::string& path);

}  // namespace rafter
