// Rafter's own files: the rows of a bench (rafter.results/1) and the ops of a trace (rafter.trace/1) as kernels.
//
// Their bytes and FLOPs are what the maths needs, not what a counter saw: they go to needed_bytes and needed_flops.
#pragma once

#include <string>
#include <string_view>

#include "rafter/measure/profiles/profile.h"

namespace rafter {

// An input Error that names the place where the text is neither, or a later version of one.
Profile read_rafter_json(std::string_view json, const std::string& path);

}  // namespace rafter
