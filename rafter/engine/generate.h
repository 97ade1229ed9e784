// Generation: from a prompt's tokens to text, one token after the other.
//
// A Generator owns sequence 0 of an engine and remembers which tokens its KV cache holds, so that a prompt which begins
// as the last one did (the next turn of a chat) is computed only from where they part.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/engine/engine.h"
#include "rafter/engine/sampler.h"
#include "rafter/formats/tokenizer.h"

namespace rafter {

struct GenerateOptions {
  int64_t max_tokens = -1;  // -1: until the model ends or the context is full
  std::vector<std::string> stops = {};
  bool ignore_eos = false;  // a stop token is a token like others
};

enum class EndReason : uint8_t { max_tokens, stop_token, stop_string, context_full, cancelled };
std::string_view name(EndReason reason);  // "max_tokens", ...

struct GenerationStats {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;     // of the prompt, those that the cache held already
  int64_t read_tokens = 0;       // of the rest, those that were computed: all of them, unless it was cancelled on the way
  int64_t generated_tokens = 0;  // without the stop token
  int64_t decode_steps = 0;      // the first token comes from the prefill, every other from a step
  double prefill_seconds = 0;
  double decode_seconds = 0;
  EndReason end = EndReason::max_tokens;

  double prefill_rate() const;  // tokens a second; 0 where there was no time
  double decode_rate() const;
};

struct GenerateHooks {
  // Called once a token, with the text that can be shown now: whole UTF-8 characters, perhaps none.
  std::function<void(std::string_view text, const GenerationStats& so_far)> text;
  std::function<void(double fraction)> prefill;
  std::function<bool()> cancelled;
};

struct Generation {
  std::string text;
  std::vector<int32_t> tokens;  // without the stop token
  GenerationStats stats;
};

class Generator {
 public:
  // With no tokenizer (random weights) a token's text is its id, "<42>". Both must outlive the generator.
  Generator(Engine& engine, const Tokenizer* tokenizer);

  // An input Error where the prompt is empty or longer than the context: nothing is computed then.
  Generation run(std::span<const int32_t> prompt, Sampler& sampler, const GenerateOptions& options,
                 const GenerateHooks& hooks = {});

  // The tokens whose keys and values the cache holds.
  const std::vector<int32_t>& cached() const { return cached_; }
  void forget();

 private:
  std::vector<float> prefill(std::span<const int32_t> prompt, const GenerateHooks& hooks, GenerationStats& stats);

  Engine& engine_;
  const Tokenizer* tokenizer_;
  std::vector<int32_t> cached_;
};

}  // namespace rafter
