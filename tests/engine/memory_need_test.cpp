// What an engine says it needs is what it then takes, and what no machine has is refused before anything is asked for.
#include <gtest/gtest.h>

#include "rafter/engine/engine.h"
#include "tests/support/errors.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

void expect_need(const Checkpoint& checkpoint, const EngineOptions& options) {
  const MemoryNeed need = Engine::memory_need(checkpoint, options);
  Engine engine(checkpoint, options);
  EXPECT_EQ(need.weights, engine.weights().device_bytes());
  EXPECT_EQ(need.cache, engine.cache().bytes());
  const auto of = [&](Program& program) { return Program::bytes_needed(program.plan(), options.device); };
  EXPECT_EQ(need.work, of(engine.prefill_program(engine.options().chunk, LogitRows::last)) + of(engine.decode_program(false)));
  EXPECT_GE(need.work, engine.decode_program(false).memory().arena_bytes);
}

TEST(MemoryNeed, IsWhatAnEngineTakes) {
  for (const Architecture architecture : {Architecture::llama, Architecture::qwen2, Architecture::qwen3}) {
    const ModelConfig config = test::tiny_config(architecture, architecture == Architecture::qwen3);
    const Checkpoint random = Checkpoint::random(config, DType::bf16);
    expect_need(random, {});
    expect_need(random, {.context = 33, .batch = 3, .chunk = 7, .fuse = false});
    const test::TempFolder folder;  // matrices stay where the file is mapped
    expect_need(Checkpoint::open(folder.write("model.gguf", test::tiny_gguf(config).bytes())), {.context = 20});
  }
}

TEST(MemoryNeed, RopeFactorsTakeNoMemoryOfTheirOwn) {
  const test::TempFolder folder;
  test::GgufWriter writer = test::tiny_gguf(test::tiny_config(Architecture::llama));
  writer.add("rope_freqs.weight", DType::f32, {4}, test::bytes_of(std::vector<float>{1, 1, 2.5f, 32}));
  expect_need(Checkpoint::open(folder.write("model.gguf", writer.bytes())), {});
}

TEST(MemoryNeed, WhatNoMachineHasIsARuntimeErrorThatNamesTheParts) {
  ModelConfig config = test::tiny_config(Architecture::llama);
  config.layers = 64;
  config.context = 1 << 24;
  const Checkpoint checkpoint = Checkpoint::random(config, DType::f32);
  try {
    const Engine engine(checkpoint, {.context = 1 << 24, .batch = 256});  // 8 KiB a token
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::runtime);
    for (const char* part : {"'tiny'", "weights", "256 x 16777216 tokens 32.0 TiB", "free", "smaller context"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " is not in: " << error.what();
  }
}

}  // namespace
}  // namespace rafter
