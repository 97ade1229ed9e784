#include "rafter/measure/recording/attribution.h"

#include <algorithm>

namespace rafter {

std::vector<Attributed> attribute_once(std::span<const Span> spans) {
  std::vector<Attributed> out;
  out.reserve(spans.size());
  int64_t covered = spans.empty() ? 0 : spans.front().start_ns;
  for (const Span& span : spans) {
    const int64_t end = std::max(span.end_ns, span.start_ns);
    Attributed a;
    a.gap_ns = std::max<int64_t>(0, span.start_ns - covered);
    a.own_ns = std::max<int64_t>(0, end - std::max(span.start_ns, covered));
    a.hidden_ns = end - span.start_ns - a.own_ns;
    covered = std::max(covered, end);
    out.push_back(a);
  }
  return out;
}

}  // namespace rafter
