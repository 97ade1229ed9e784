#include "rafter/cli/live_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include "rafter/base/terminal.h"
#include "rafter/base/units.h"
#include "rafter/cli/output.h"

namespace rafter {

namespace {

constexpr auto kEvery = std::chrono::milliseconds(200);

// Below the cursor and back. Going down and up first makes room for the line at the bottom of the screen.
constexpr const char* kMakeRoom = "\033D\033[A";
constexpr const char* kSave = "\0337\033[B\r\033[K";
constexpr const char* kRestore = "\0338";

std::string context_full_text(int64_t context, int64_t models) {
  return context < models
             ? fmt::format("the context of {} is full; -c makes it larger, up to {}", counted(context, "token"), models)
             : fmt::format("the context of {} is full: that is the model's limit", counted(context, "token"));
}

}  // namespace

LiveText::LiveText()
    : enabled_(status_columns(STDERR_FILENO) > 0), below_text_(out_is_terminal()), next_(Clock::now() + kEvery) {}

void LiveText::add(std::string_view text, const GenerationStats& stats) {
  const bool redraw = shown_ && below_text_ && !text.empty();
  if (redraw) hide();  // text that wraps would run into the line
  write_out(text);
  if (!enabled_ || (!redraw && Clock::now() < next_)) return;
  if (Clock::now() >= next_) {
    next_ = Clock::now() + kEvery;
    const double rate = stats.decode_rate();
    line_ = (rate > 0 ? fmt::format("{:.1f} tokens/s, ", rate) : "") + counted(stats.generated_tokens, "token");
    line_ = cut_to(line_, status_columns(STDERR_FILENO) - 1);
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
  const auto part = [](const char* what, int64_t tokens, double seconds, double rate) {
    const std::string speed = rate > 0 ? fmt::format(" ({:.1f} t/s)", rate) : "";
    return fmt::format("{} {} in {}{}", what, counted(tokens, "token"), format_seconds(seconds), speed);
  };
  std::string text = part("prefill", stats.read_tokens, stats.prefill_seconds, stats.prefill_rate());
  if (stats.decode_steps > 0) text += ", " + part("decode", stats.decode_steps, stats.decode_seconds, stats.decode_rate());
  return text;
}

std::string end_text(const GenerationStats& stats, const Engine& engine) {
  switch (stats.end) {
    case EndReason::max_tokens:
      return fmt::format("ended by -n {}", stats.generated_tokens);
    case EndReason::stop_token:
      return "the model ended its text";
    case EndReason::stop_string:
      return "ended by a stop string";
    case EndReason::context_full:
      return context_full_text(engine.options().context, engine.config().context);
    case EndReason::cancelled:
      return "cancelled";
  }
  return {};
}

}  // namespace rafter
