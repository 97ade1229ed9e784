// One line on stderr that says how far a long piece of work has come, no wider than the terminal; silent when stderr is
// not a terminal that can draw over a line.
#pragma once

#include <chrono>
#include <string>

namespace rafter {

class Progress {
 public:
  // Nothing is printed before `delay` has passed, so quick work stays silent. No delay suits work whose single pieces may
  // take minutes: its first update() is seen at once.
  explicit Progress(std::string what, std::chrono::milliseconds delay = std::chrono::milliseconds(400));
  ~Progress();  // clears the line: end its life before anything else is printed
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Drawn ten times a second at most, and whenever `detail` is another than before.
  void update(double fraction, const std::string& detail = {});

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_, detail_;
  Clock::time_point start_, next_;
  bool shown_ = false;
};

// "loading SmolLM2 [======      ]  52%  detail" in that many columns: what does not fit is cut, the percentage never.
std::string progress_line(const std::string& what, double fraction, const std::string& detail, int columns);

}  // namespace rafter
