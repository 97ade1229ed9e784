// One line on stderr that says how far a long piece of work has come; silent when stderr is not a terminal.
#pragma once

#include <chrono>
#include <string>

namespace rafter {

class Progress {
 public:
  // Nothing is printed before `delay` has passed, so quick work stays silent.
  explicit Progress(std::string what, std::chrono::milliseconds delay = std::chrono::milliseconds(400));
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double fraction, const std::string& detail = {});

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point next_;
  bool enabled_;
  bool shown_ = false;
};

}  // namespace rafter
