// The options with which every verb names a model and says how to run it, and what they come to.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "rafter/engine/engine.h"
#include "rafter/formats/tokenizer.h"

namespace rafter {

struct ModelOptions {
  std::string path;
  std::string random_weights, dtype;  // a shipped config's name; of its weights
  std::string device, executor;       // empty: the best there is
  int64_t threads = 0;                // 0: one per usable core
  int64_t context = 0;                // 0: the model's own, at most 4096
  int64_t chunk = 512;
  bool no_fuse = false, no_pdl = false;
};

// MODEL, -m, and --random-weights with --dtype.
void add_model_choice(CLI::App& app, ModelOptions& options);
// --device, -t, --executor, --chunk, --no-fuse, --no-pdl.
void add_execution_options(CLI::App& app, ModelOptions& options);
void add_context_option(CLI::App& app, ModelOptions& options);

// A model opened, and once started, on its device.
class LoadedModel {
 public:
  // Opens the file, or makes up the config. An input Error where no model is named, or two are.
  explicit LoadedModel(const ModelOptions& options);

  // Loads the weights, with a progress line. `context` and `batch` as in EngineOptions.
  void start(int64_t context, int64_t batch = 1);

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  DeviceId device() const { return device_; }
  const ModelConfig& config() const { return checkpoint_->config(); }
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }  // null with random weights
  // Opens it; verbs that never speak text need not.
  void open_tokenizer();
  Engine& engine() { return *engine_; }
  double load_seconds() const { return load_seconds_; }
  int threads() const;

 private:
  ModelOptions options_;
  DeviceId device_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<Engine> engine_;
  double load_seconds_ = 0;
};

}  // namespace rafter
