#include "rafter/measure/workload.h"

namespace rafter {

std::vector<int32_t> Workload::tokens(int64_t count) {
  std::vector<int32_t> result(static_cast<size_t>(count));
  for (int32_t& token : result) token = static_cast<int32_t>(random_.below(static_cast<uint32_t>(engine_.config().vocab)));
  return result;
}

void Workload::fill(int64_t depth) {
  for (int64_t sequence = 0; sequence < engine_.options().batch; ++sequence) {
    engine_.truncate(sequence, depth);
    engine_.prefill(sequence, tokens(depth - engine_.length(sequence)), LogitRows::none);
  }
}

}  // namespace rafter
