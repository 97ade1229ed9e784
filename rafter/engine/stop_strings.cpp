#include "rafter/engine/stop_strings.h"

#include <algorithm>
#include <utility>

#include "rafter/base/error.h"

namespace rafter {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) throw input_error({"a stop string (--stop)", "empty", "one character or more"});
  }
}

std::string StopStrings::push(std::string_view text) {
  if (matched()) return {};
  pending_ += text;
  size_t start = std::string::npos, end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = pending_.find(stop);
    if (at == std::string::npos) continue;
    const size_t after = at + stop.size();
    if (after < end || (after == end && at < start)) {
      start = at;
      end = after;
      match_ = stop;
    }
  }
  const size_t shown = matched() ? start : pending_.size() - held_length();
  std::string out = pending_.substr(0, shown);
  pending_.erase(0, matched() ? pending_.size() : shown);
  return out;
}

// Length of the longest end of pending_ with which some stop string begins.
size_t StopStrings::held_length() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, pending_.size()); length > longest; --length) {
      if (std::string_view(pending_).ends_with(std::string_view(stop).substr(0, length))) longest = length;
    }
  }
  return longest;
}

std::string StopStrings::finish() { return std::exchange(pending_, {}); }

}  // namespace rafter
