#include "rafter/measure/workload.h"

namespace rafter {

std::vector<int32_t> Workload::tokens(int64_t count) {
  std::vector<int32_t> result(static_cast<size_t>(count));
  for (int32_t& token : result) token = static_cast<int32_t>(random_.below(static_cast<uint32_t>(engine_.config().vocab)));
  return result;
}

void Workload::fill(int64_t depth, const FractionDone& done) {
  const int64_t batch = engine_.options().batch;
  for (int64_t sequence = 0; sequence < batch; ++sequence) {
    engine_.truncate(sequence, depth);
    prefill(sequence, tokens(depth - engine_.length(sequence)), LogitRows::none, [&](double fraction) {
      if (done) done((static_cast<double>(sequence) + fraction) / static_cast<double>(batch));
    });
  }
}

void Workload::prefill(int64_t sequence, std::span<const int32_t> prompt, LogitRows rows, const FractionDone& done) {
  const auto chunk = static_cast<size_t>(engine_.options().chunk);
  for (size_t first = 0; first < prompt.size(); first += chunk) {
    if (done) done(static_cast<double>(first) / static_cast<double>(prompt.size()));
    const bool last = first + chunk >= prompt.size();
    engine_.prefill(sequence, prompt.subspan(first, last ? prompt.size() - first : chunk), last ? rows : LogitRows::none);
  }
}

}  // namespace rafter
