#include "rafter/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace rafter {

Progress::Progress(std::string what, std::chrono::milliseconds delay)
    : what_(std::move(what)), next_(Clock::now() + delay), enabled_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double fraction, const std::string& detail) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  shown_ = true;
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  fmt::print(stderr, "\r\033[K{} [{:<{}}] {:3.0f}%  {}", what_, std::string(static_cast<size_t>(filled), '='), kWidth,
             fraction * 100.0, detail);
  std::fflush(stderr);
}

}  // namespace rafter
