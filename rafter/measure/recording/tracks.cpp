#include "rafter/measure/recording/tracks.h"

namespace rafter {

size_t Tracks::place(int64_t start_ns, int64_t end_ns) {
  for (size_t track = 0;; ++track) {
    if (track == open_.size()) open_.emplace_back();
    auto& open = open_[track];
    while (!open.empty() && open.back() <= start_ns) open.pop_back();
    if (!open.empty() && (!nesting_ || end_ns > open.back())) continue;
    open.push_back(end_ns);
    return track;
  }
}

}  // namespace rafter
