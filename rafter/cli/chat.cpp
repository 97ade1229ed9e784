// `rafter chat`: a conversation, line by line, that keeps what the model has read in its KV cache.
#include "rafter/base/error.h"
#include "rafter/base/progress.h"
#include "rafter/cli/input.h"
#include "rafter/cli/interrupt.h"
#include "rafter/cli/live_text.h"
#include "rafter/cli/model_options.h"
#include "rafter/cli/output.h"
#include "rafter/cli/text_options.h"
#include "rafter/cli/verb.h"

namespace rafter {

namespace {

struct ChatVerbOptions {
  ModelOptions model;
  ChatOptions chat;
  GenerationFlags generation;
};

constexpr const char* kHelp =
    "Each line is a message. /reset forgets the conversation, /exit (or Ctrl-D) ends it, Ctrl-C stops an answer.\n";

class Conversation {
 public:
  Conversation(LoadedModel& model, const ChatVerbOptions& options, ChatFormat format, const SamplerOptions& sampler)
      : model_(model),
        options_(options),
        format_(format),
        sampler_(sampler),
        generator_(model.engine(), model.tokenizer()),
        interactive_(in_is_terminal()) {
    reset();
  }

  int run() {
    if (interactive_)
      note(fmt::format("{} on {}. {}", model_.config().name, to_string(model_.engine().options().device), kHelp));
    for (;;) {
      if (interactive_) note("\n> ");
      const std::optional<std::string> line = lines_.next();
      if (!line) {
        if (interactive_) note("\n");
        return interrupted() ? interrupted_status() : 0;
      }
      if (*line == "/exit") return 0;
      if (*line == "/reset") {
        reset();
      } else if (*line == "/help") {
        note(kHelp);
      } else if (line->starts_with('/')) {
        note(fmt::format("'{}' is no command. {}", printable(*line), kHelp));
      } else if (!line->empty()) {
        if (const int status = take_turn(*line); status != 0) return status;
      }
    }
  }

 private:
  void reset() {
    messages_.clear();
    if (options_.chat.system) messages_.push_back({"system", *options_.chat.system});
    generator_.forget();
  }

  // 0, or the status to end with: with nobody at the keyboard a turn that fails is an end.
  int take_turn(const std::string& text) {
    messages_.push_back({"user", text});
    try {
      const Generation answer = reply();
      messages_.push_back({"assistant", answer.text});
      if (answer.stats.end == EndReason::cancelled) {
        if (!interactive_) return interrupted_status();
        catch_interrupts();  // the next one stops the next answer
      }
      return 0;
    } catch (const Error& error) {
      if (!interactive_ || error.fault() != Fault::input) throw;
      messages_.pop_back();
      note(fmt::format("rafter: {} /reset starts again.\n", error.what()));
      return 0;
    }
  }

  Generation reply() {
    const std::vector<int32_t> tokens = encode_chat(*model_.tokenizer(), format_, messages_);
    LiveText live;
    std::optional<Progress> progress("reading");
    GenerateHooks hooks;
    hooks.cancelled = interrupted;
    hooks.prefill = [&](double fraction) { progress->update(fraction); };
    hooks.text = [&](std::string_view piece, const GenerationStats& stats) {
      progress.reset();
      live.add(piece, stats);
    };
    Generation answer = generator_.run(tokens, sampler_, options_.generation.generate, hooks);
    progress.reset();
    live.hide();
    write_out("\n");
    const EndReason end = answer.stats.end;
    const bool notable = end == EndReason::context_full || end == EndReason::cancelled || end == EndReason::max_tokens;
    note(fmt::format("[{}{}{}]\n", rates_text(answer.stats), notable ? "; " : "",
                     notable ? end_text(answer.stats, model_.engine()) : ""));
    return answer;
  }

  LoadedModel& model_;
  const ChatVerbOptions& options_;
  const ChatFormat format_;
  Sampler sampler_;
  Generator generator_;
  LineReader lines_;
  std::vector<ChatMessage> messages_;
  const bool interactive_;
};

int chat(const ChatVerbOptions& options) {
  const SamplerOptions sampler = sampler_options(options.generation);
  catch_interrupts();
  LoadedModel model(options.model);
  model.open_tokenizer();
  const ChatFormat format = chat_format(options.chat, model.tokenizer());
  model.start(options.model.context);
  return Conversation(model, options, format, sampler).run();
}

}  // namespace

Verb add_chat(CLI::App& app) {
  CLI::App* command = app.add_subcommand("chat", "Talk with a model");
  command->footer(
      "Reads messages from standard input, a line each. /reset, /exit and /help are commands.\n"
      "Examples:\n"
      "  rafter chat model.gguf\n"
      "  rafter chat model.gguf --temp 0.7 -s 1 --system \"You answer in one line.\"\n"
      "  echo \"What is the capital of France?\" | rafter chat model.gguf");
  auto options = std::make_shared<ChatVerbOptions>();
  add_model_choice(*command, options->model);
  add_chat_options(*command, options->chat);
  add_context_option(*command, options->model);
  add_generation_options(*command, options->generation);
  add_execution_options(*command, options->model);
  return {command, [options] { return chat(*options); }};
}

}  // namespace rafter
