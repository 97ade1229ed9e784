#include "rafter/measure/recording/call_name.h"

namespace rafter {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool launches_work(std::string_view call) { return has(call, "Launch") || has(call, "Memcpy") || has(call, "Memset"); }

bool waits_for_gpu(std::string_view call) { return has(call, "Synchronize"); }

}  // namespace rafter
