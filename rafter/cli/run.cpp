// `rafter run`: a prompt's continuation, as it comes.
#include <algorithm>

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/base/progress.h"
#include "rafter/base/units.h"
#include "rafter/cli/interrupt.h"
#include "rafter/cli/live_text.h"
#include "rafter/cli/model_options.h"
#include "rafter/cli/output.h"
#include "rafter/cli/roofs.h"
#include "rafter/cli/text_options.h"
#include "rafter/cli/verb.h"
#include "rafter/measure/trace.h"
#include "rafter/report/trace_report.h"

namespace rafter {

namespace {

struct RunOptions {
  ModelOptions model;
  PromptOptions prompt;
  ChatOptions chat;
  GenerationFlags generation;
  bool as_chat = false, hide_prompt = false, stats = false, json = false;
};

// One decode step where the text ended, op by op, or as near to there as leaves room for the steps that are timed.
StepTrace trace_at_end(LoadedModel& model) {
  Engine& engine = model.engine();
  TraceOptions options;
  const int64_t room = trace_room(options, engine.options().device.kind);
  options.context = std::clamp<int64_t>(engine.length(0), 0, std::max<int64_t>(0, engine.options().context - room));
  StepTrace trace = [&] {
    Progress progress("tracing a step");
    return trace_step(engine, options, [&](double fraction, const std::string& what) { progress.update(fraction, what); });
  }();
  const Roofs roofs = known_roofs(engine.options().device);
  if (roofs.machine) add_floors(trace, *roofs.machine);
  note(roofs.about);
  return trace;
}

std::string run_json(LoadedModel& model, const std::string& prompt, const SamplerOptions& sampler, const Generation& made,
                     const std::string& trace) {
  const GenerationStats& stats = made.stats;
  Json json = {
      {"schema", "rafter.run/1"}, {"model", model.config().name}, {"device", to_string(model.engine().options().device)}};
  json["prompt"] = prompt;
  json["text"] = made.text;
  json["tokens"] = made.tokens;
  json["end"] = name(stats.end);
  json["sampler"] = {{"temperature", sampler.temperature},
                     {"top_k", sampler.top_k},
                     {"top_p", sampler.top_p},
                     {"min_p", sampler.min_p},
                     {"repeat_penalty", sampler.repeat_penalty},
                     {"repeat_last_n", sampler.repeat_last_n},
                     {"seed", sampler.seed}};
  json["stats"] = {{"load_s", model.load_seconds()},
                   {"prompt_tokens", stats.prompt_tokens},
                   {"read_tokens", stats.read_tokens},
                   {"generated_tokens", stats.generated_tokens},
                   {"decode_steps", stats.decode_steps},
                   {"prefill_s", stats.prefill_seconds},
                   {"decode_s", stats.decode_seconds},
                   {"prefill_tokens_per_s", known_or_null(stats.prefill_rate())},
                   {"decode_tokens_per_s", known_or_null(stats.decode_rate())},
                   {"context", model.engine().options().context}};
  if (!trace.empty()) json["trace"] = Json::parse(trace);
  return to_text(json);
}

std::vector<int32_t> prompt_tokens(const RunOptions& options, const Tokenizer* tokenizer, const std::string& text) {
  if (!options.as_chat) return encode_prompt(tokenizer, text, options.prompt.specials);
  const ChatFormat format = chat_format(options.chat, tokenizer);
  return encode_chat(*tokenizer, format, first_messages(options.chat, text));
}

int run(const RunOptions& options, const std::string& line) {
  const SamplerOptions sampler_settings = sampler_options(options.generation);
  const std::string prompt = prompt_text(options.prompt);
  catch_interrupts();
  LoadedModel model(options.model);
  model.open_tokenizer();
  const std::vector<int32_t> tokens = prompt_tokens(options, model.tokenizer(), prompt);
  model.start(options.model.context);

  Sampler sampler(sampler_settings);
  Generator generator(model.engine(), model.tokenizer());
  LiveText live;
  std::optional<Progress> progress("reading the prompt");
  // The prompt is shown when it has been read: before that a progress line may stand where it goes.
  const auto begin_text = [&] {
    if (!progress) return;
    progress.reset();
    if (!options.json && !options.as_chat && !options.hide_prompt) write_out(prompt);
  };
  GenerateHooks hooks;
  hooks.cancelled = interrupted;
  hooks.prefill = [&](double fraction) { progress->update(fraction); };
  hooks.text = [&](std::string_view text, const GenerationStats& stats) {
    begin_text();
    if (!options.json) live.add(text, stats);
  };
  const Generation made = generator.run(tokens, sampler, options.generation.generate, hooks);
  begin_text();
  live.hide();
  std::optional<StepTrace> trace;
  if (!options.json) write_out("\n");
  if (options.stats && made.stats.end != EndReason::cancelled) trace = trace_at_end(model);
  if (options.json) {
    const std::string trace_text = trace ? trace_json(model.engine(), *trace, line) : "";
    write_out(run_json(model, prompt, sampler_settings, made, trace_text));
  }
  note(fmt::format("\nload {}, {}; {}.{}\n", format_seconds(model.load_seconds()), rates_text(made.stats),
                   end_text(made.stats, model.engine()),
                   sampler_settings.temperature > 0 ? fmt::format(" Seed {}.", sampler_settings.seed) : ""));
  if (trace && !options.json) note('\n' + trace_text(model.engine(), *trace, false));
  return made.stats.end == EndReason::cancelled ? interrupted_status() : 0;
}

}  // namespace

Verb add_run(CLI::App& app, const std::string& command_line) {
  CLI::App* command = app.add_subcommand("run", "Generate text from a prompt");
  command->footer(
      "Text goes to standard output; progress and speeds go to standard error.\n"
      "Examples:\n"
      "  rafter run model.gguf -p \"The sea is\" -n 64\n"
      "  rafter run model.gguf -p \"List three fruits.\" --chat --temp 0.8 -s 7\n"
      "  rafter run model.gguf -p \"The sea is\" -n 64 --stats\n"
      "  rafter run folder/ -f prompt.txt --stop $'\\n\\n' --json\n"
      "  rafter run --random-weights llama-3.1-8b -p \"any text\" -n 32");
  auto options = std::make_shared<RunOptions>();
  add_model_choice(*command, options->model);
  add_prompt_options(*command, options->prompt);
  command->add_flag("--chat", options->as_chat,
                    "The prompt is a user's message, in the model's chat format (also where the next two are given)");
  add_chat_options(*command, options->chat);
  add_context_option(*command, options->model);
  command->add_flag("--no-display-prompt", options->hide_prompt, "Print the continuation alone");
  command->add_flag("--stats", options->stats, "Then trace one decode step: time, floor and fraction of every op");
  command->add_flag("--json", options->json, "One JSON object (rafter.run/1) in place of text");
  add_generation_options(*command, options->generation);
  add_execution_options(*command, options->model);
  return {command, [options, command_line] {
            options->as_chat |= options->chat.given();
            refuse_specials_in_chat(options->prompt, options->as_chat);
            return run(*options, command_line);
          }};
}

}  // namespace rafter
