// Puts spans on as few tracks as they need, so that on one track they are apart, or where that is wanted nested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rafter {

class Tracks {
 public:
  // `nesting`: a span may lie within another on the same track, as calls do; else it needs one of its own.
  explicit Tracks(bool nesting) : nesting_(nesting) {}

  // The track of a span, counting from 0. Spans come in the order of their starts, of the same start the longer first.
  size_t place(int64_t start_ns, int64_t end_ns);
  size_t count() const { return open_.size(); }

 private:
  bool nesting_;
  std::vector<std::vector<int64_t>> open_;  // of each track, the ends of what has begun and not ended, the outermost first
};

}  // namespace rafter
