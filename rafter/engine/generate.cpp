#include "rafter/engine/generate.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "rafter/base/error.h"
#include "rafter/engine/stop_strings.h"

namespace rafter {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Where the tokens after the first come from: the next one, given the one before it.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual int32_t next(int32_t previous) = 0;
};

// The device chooses and feeds its own choice back; on a GPU it is one step ahead of what the host has seen.
class DeviceGreedy : public TokenSource {
 public:
  DeviceGreedy(Engine& engine, int32_t first, int64_t steps)
      : engine_(engine), steps_left_(steps), ahead_(engine.options().device.kind == DeviceKind::cuda ? Engine::kAhead : 1) {
    const int32_t tokens[] = {first};
    engine_.greedy_start(tokens);
  }
  ~DeviceGreedy() override {
    while (engine_.greedy_pending() > 0) engine_.greedy_take();
  }
  int32_t next(int32_t) override {
    for (; steps_left_ > 0 && engine_.greedy_pending() < ahead_; --steps_left_) engine_.greedy_step();
    return engine_.greedy_take()[0];
  }

 private:
  Engine& engine_;
  int64_t steps_left_;
  int ahead_;
};

class HostSampling : public TokenSource {
 public:
  HostSampling(Engine& engine, Sampler& sampler) : engine_(engine), sampler_(sampler) {}
  int32_t next(int32_t previous) override {
    const int32_t tokens[] = {previous};
    return sampler_.sample(engine_.decode(tokens));
  }

 private:
  Engine& engine_;
  Sampler& sampler_;
};

std::unique_ptr<TokenSource> make_source(Engine& engine, Sampler& sampler, int32_t first, int64_t steps) {
  if (sampler.is_argmax()) return std::make_unique<DeviceGreedy>(engine, first, steps);
  return std::make_unique<HostSampling>(engine, sampler);
}

// Tokens in, shown text out: detokenised, and held back while it may be the start of a stop string.
class TextStream {
 public:
  TextStream(const Tokenizer* tokenizer, const std::vector<std::string>& stops) : stops_(stops) {
    if (tokenizer != nullptr) decoder_.emplace(*tokenizer);
  }
  std::string push(int32_t token) { return stops_.push(decoder_ ? decoder_->push(token) : fmt::format("<{}>", token)); }
  std::string finish() {
    std::string rest = decoder_ ? stops_.push(decoder_->finish()) : std::string();
    return rest + stops_.finish();
  }
  bool stopped() const { return stops_.matched(); }

 private:
  std::optional<StreamDecoder> decoder_;
  StopStrings stops_;
};

// One generation in the making: takes tokens, shows their text, and knows when it is over.
class Telling {
 public:
  Telling(const Tokenizer* tokenizer, const GenerateOptions& options, const GenerateHooks& hooks, int64_t budget)
      : tokenizer_(tokenizer), options_(options), hooks_(hooks), budget_(budget), stream_(tokenizer, options.stops) {}

  // True where the text ends with this token.
  bool take(int32_t token) {
    stats().decode_seconds = seconds_since(start_);
    if (!options_.ignore_eos && tokenizer_ != nullptr && tokenizer_->is_stop(token)) return end(EndReason::stop_token);
    result.tokens.push_back(token);
    ++stats().generated_tokens;
    show(stream_.push(token));
    if (stream_.stopped()) return end(EndReason::stop_string);
    if (stats().generated_tokens == budget_)
      return end(budget_ == options_.max_tokens ? EndReason::max_tokens : EndReason::context_full);
    return cancelled() && end(EndReason::cancelled);
  }
  void finish() {
    if (const std::string rest = stream_.finish(); !rest.empty()) show(rest);
  }
  void start_clock() { start_ = Clock::now(); }
  bool end(EndReason reason) {
    stats().end = reason;
    return true;
  }
  bool cancelled() const { return hooks_.cancelled && hooks_.cancelled(); }
  GenerationStats& stats() { return result.stats; }

  Generation result;

 private:
  void show(const std::string& text) {
    result.text += text;
    if (hooks_.text) hooks_.text(text, result.stats);
  }

  const Tokenizer* tokenizer_;
  const GenerateOptions& options_;
  const GenerateHooks& hooks_;
  int64_t budget_;
  TextStream stream_;
  Clock::time_point start_;
};

}  // namespace

std::string_view name(EndReason reason) {
  switch (reason) {
    case EndReason::max_tokens:
      return "max_tokens";
    case EndReason::stop_token:
      return "stop_token";
    case EndReason::stop_string:
      return "stop_string";
    case EndReason::context_full:
      return "context_full";
    case EndReason::cancelled:
      return "cancelled";
  }
  return {};
}

double GenerationStats::prefill_rate() const {
  return prefill_seconds > 0 ? static_cast<double>(read_tokens) / prefill_seconds : 0;
}
double GenerationStats::decode_rate() const {
  return decode_seconds > 0 ? static_cast<double>(decode_steps) / decode_seconds : 0;
}

Generator::Generator(Engine& engine, const Tokenizer* tokenizer) : engine_(engine), tokenizer_(tokenizer) {}

void Generator::forget() {
  engine_.truncate(0, 0);
  cached_.clear();
}

// Makes the cache hold the prompt and gives the last token's logits; none where it was cancelled on the way.
std::vector<float> Generator::prefill(std::span<const int32_t> prompt, const GenerateHooks& hooks, GenerationStats& stats) {
  const auto start = Clock::now();
  // The last token is always computed: its logits are what the first choice is made from.
  const size_t limit = std::min(cached_.size(), prompt.size() - 1);
  const size_t same = static_cast<size_t>(
      std::mismatch(cached_.begin(), cached_.begin() + static_cast<ptrdiff_t>(limit), prompt.begin()).first - cached_.begin());
  engine_.truncate(0, static_cast<int64_t>(same));
  cached_.resize(same);
  stats.cached_tokens = static_cast<int64_t>(same);
  std::vector<float> logits;
  while (cached_.size() < prompt.size() && !(hooks.cancelled && hooks.cancelled())) {
    const auto rest = prompt.subspan(cached_.size());
    const auto chunk = rest.first(std::min(rest.size(), static_cast<size_t>(engine_.options().chunk)));
    logits = engine_.prefill(0, chunk, chunk.size() == rest.size() ? LogitRows::last : LogitRows::none);
    cached_.insert(cached_.end(), chunk.begin(), chunk.end());
    stats.read_tokens += static_cast<int64_t>(chunk.size());
    if (hooks.prefill) hooks.prefill(static_cast<double>(cached_.size()) / static_cast<double>(prompt.size()));
  }
  stats.prefill_seconds = seconds_since(start);
  return logits;
}

Generation Generator::run(std::span<const int32_t> prompt, Sampler& sampler, const GenerateOptions& options,
                          const GenerateHooks& hooks) {
  const auto context = engine_.options().context, length = static_cast<int64_t>(prompt.size());
  if (prompt.empty()) throw input_error({"the prompt", "empty", "one token or more"});
  if (length > context) {
    throw input_error({"the prompt", fmt::format("{} tokens long", length), fmt::format("at most the context of {}", context),
                       context < engine_.config().context ? "shorten the prompt or raise -c"
                                                          : "shorten the prompt: that is the model's limit"});
  }
  if (options.max_tokens < -1) throw input_error({"-n", std::to_string(options.max_tokens), "-1 (no limit), 0 or more"});
  // The last token needs no room: it is shown, not fed.
  const int64_t room = context - length + 1;
  const int64_t budget = options.max_tokens < 0 ? room : std::min(options.max_tokens, room);
  engine_.prepare_decode(sampler.is_argmax());

  Telling telling(tokenizer_, options, hooks, budget);
  telling.stats().prompt_tokens = length;
  sampler.start(prompt);
  const std::vector<float> logits = prefill(prompt, hooks, telling.stats());
  telling.start_clock();
  if (logits.empty()) {
    telling.end(EndReason::cancelled);
  } else if (budget > 0) {
    int32_t token = sampler.sample(logits);
    const std::unique_ptr<TokenSource> source = make_source(engine_, sampler, token, budget - 1);
    while (!telling.take(token)) {
      sampler.accept(token);
      cached_.push_back(token);
      token = source->next(token);
      ++telling.stats().decode_steps;
    }
  }
  engine_.truncate(0, static_cast<int64_t>(cached_.size()));  // a step that ran ahead of the end is forgotten
  telling.finish();
  return std::move(telling.result);
}

}  // namespace rafter
