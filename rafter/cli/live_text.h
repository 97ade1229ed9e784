// Text as it is generated, with a line of tokens/s beside it on a terminal.
//
// The text goes to standard output and the line to standard error. Where both are one terminal the line stands below the
// text and moves down with it; where only standard error is one, it stands alone. Elsewhere there is none.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rafter/engine/generate.h"

namespace rafter {

class LiveText {
 public:
  LiveText();
  ~LiveText() { hide(); }
  LiveText(const LiveText&) = delete;
  LiveText& operator=(const LiveText&) = delete;

  // Writes text, and from time to time the line.
  void add(std::string_view text, const GenerationStats& stats);
  // Takes the line away: before anything else is printed.
  void hide();

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_, below_text_;
  bool shown_ = false;
  Clock::time_point next_;
  std::string line_;
};

// "prefill 11 tokens in 120 ms (91.7 t/s), decode 63 tokens in 1.31 s (48.1 t/s)"; what did not happen is left out.
std::string rates_text(const GenerationStats& stats);
// Why it ended, for people: "the model ended its text".
std::string end_text(const GenerationStats& stats, const Engine& engine);

}  // namespace rafter
