#include "rafter/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "rafter/base/terminal.h"

namespace rafter {

std::string progress_line(const std::string& what, double fraction, const std::string& detail, int columns) {
  constexpr int kWidest = 24, kNarrowest = 4, kPercent = 5;  // of the bar; " 100%"
  const double done = std::clamp(fraction, 0.0, 1.0);
  std::string line = cut_to(what, columns - kPercent);
  const int bar = std::min(kWidest, columns - static_cast<int>(line.size()) - kPercent - 3);  // " [" and "]"
  if (bar >= kNarrowest) line += fmt::format(" [{:<{}}]", std::string(static_cast<size_t>(done * bar), '='), bar);
  line += fmt::format(" {:3.0f}%", done * 100);
  if (!detail.empty()) line += "  " + detail;
  return cut_to(line, columns);
}

Progress::Progress(std::string what, std::chrono::milliseconds delay)
    : what_(std::move(what)), start_(Clock::now() + delay), next_(start_) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double fraction, const std::string& detail) {
  const auto now = Clock::now();
  if (now < start_ || (now < next_ && detail == detail_)) return;
  next_ = now + std::chrono::milliseconds(100);
  detail_ = detail;
  // One column stays free: a full line would move some terminals to the next. Asked anew, since windows change.
  const int columns = status_columns(STDERR_FILENO);
  if (columns == 0) return;
  shown_ = true;
  fmt::print(stderr, "\r\033[K{}", progress_line(what_, fraction, detail, columns - 1));
  std::fflush(stderr);
}

}  // namespace rafter
