// Nsight Compute's own report, .ncu-rep: a binary whose format is its own. `ncu` turns it into a table, which we read.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace rafter {

bool is_ncu_report(std::string_view bytes);

// What `ncu --import PATH --page raw --csv` prints. An input Error that gives this command where there is no `ncu` on PATH,
// where it fails, prints over 1 GiB, or takes longer than `patience`: it is then ended.
std::string export_ncu_report(const std::string& path, std::chrono::milliseconds patience = std::chrono::minutes(2));

}  // namespace rafter
