// A program outside the tree (docs/cpp.md): generates from a model file, or with no argument from random weights, which have
// no tokenizer.
#include <fmt/format.h>

#include <optional>

#include "rafter/base/error.h"
#include "rafter/device/device.h"
#include "rafter/engine/generate.h"
#include "rafter/models/checkpoint.h"

namespace {

int generate(const char* path) {
  const rafter::Checkpoint checkpoint =
      path != nullptr ? rafter::Checkpoint::open(path)
                      : rafter::Checkpoint::random(rafter::shipped_config("smollm2-135m"), rafter::DType::bf16);
  std::optional<rafter::Tokenizer> tokenizer;
  if (checkpoint.has_tokenizer()) tokenizer = checkpoint.tokenizer();
  rafter::Engine engine(checkpoint, {.device = rafter::default_device(), .context = 64});
  rafter::Generator generator(engine, tokenizer ? &*tokenizer : nullptr);
  rafter::Sampler sampler({});  // greedy
  const std::vector<int32_t> prompt = tokenizer ? tokenizer->encode("The sea is") : std::vector<int32_t>{1, 2, 3};
  const rafter::Generation made = generator.run(prompt, sampler, {.max_tokens = 8, .ignore_eos = true});
  fmt::print("{} on {}:{}\n", checkpoint.config().name, rafter::to_string(engine.options().device), made.text);
  return made.tokens.size() == 8 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return generate(argc > 1 ? argv[1] : nullptr);
  } catch (const rafter::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_status();
  }
}
