#include "rafter/cli/live_text.h"

#include <fmt/format.h>

#include "rafter/base/units.h"
#include "rafter/cli/output.h"

namespace rafter {

namespace {

constexpr auto kEvery = std::chrono::milliseconds(200);

// Below the cursor and back. Going down and up first makes room for the line at the bottom of the screen.
constexpr const char* kMakeRoom = "\033D\033[A";
constexpr const char* kSave = "\0337\033[B\r\033[K";
constexpr const char* kRestore = "\0338";

}  // namespace

LiveText::LiveText() : enabled_(err_is_terminal()), below_text_(out_is_terminal()), next_(Clock::now() + kEvery) {}

void LiveText::add(std::string_view text, const GenerationStats& stats) {
  const bool redraw = shown_ && below_text_ && !text.empty();
  if (redraw) hide();  // text that wraps would run into the line
  write_out(text);
  if (!enabled_ || (!redraw && Clock::now() < next_)) return;
  if (Clock::now() >= next_) {
    next_ = Clock::now() + kEvery;
    line_ = fmt::format("{:.1f} tokens/s, {} tokens", stats.decode_rate(), stats.generated_tokens);
  }
  note(below_text_ ? fmt::format("{}{}\033[2m{}\033[0m{}", kMakeRoom, kSave, line_, kRestore)
                   : fmt::format("\r\033[K{}", line_));
  shown_ = true;
}

void LiveText::hide() {
  if (!shown_) return;
  note(below_text_ ? fmt::format("{}{}", kSave, kRestore) : "\r\033[K");
  shown_ = false;
}

std::string rates_text(const GenerationStats& stats) {
  return fmt::format("prefill {} tokens in {} ({:.1f} t/s), decode {} tokens in {} ({:.1f} t/s)", stats.read_tokens,
                     format_seconds(stats.prefill_seconds), stats.prefill_rate(), stats.decode_steps,
                     format_seconds(stats.decode_seconds), stats.decode_rate());
}

std::string end_text(const GenerationStats& stats, int64_t context) {
  switch (stats.end) {
    case EndReason::max_tokens:
      return fmt::format("ended by -n {}", stats.generated_tokens);
    case EndReason::stop_token:
      return "the model ended its text";
    case EndReason::stop_string:
      return "ended by a stop string";
    case EndReason::context_full:
      return fmt::format("the context of {} tokens is full; -c makes it larger", context);
    case EndReason::cancelled:
      return "interrupted";
  }
  return {};
}

}  // namespace rafter
