#include "rafter/cli/model_options.h"

#include <chrono>

#include "rafter/base/error.h"
#include "rafter/base/progress.h"
#include "rafter/base/threads.h"
#include "rafter/cli/interrupt.h"
#include "rafter/cli/output.h"
#include "rafter/cli/values.h"
#if defined(RAFTER_WITH_CUDA)
#include "rafter/device/cuda/launch.h"
#endif

namespace rafter {

namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxChunk = 16384;
constexpr int64_t kMaxTokens = int64_t{1} << 31;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

DType random_dtype(const std::string& text) {
  if (text.empty()) return DType::bf16;
  const std::optional<DType> dtype = dtype_named(text);
  if (!dtype || is_quantised(*dtype) || *dtype == DType::i32)
    throw input_error({"--dtype", in_quotes(text, 40), "bf16, f16 or f32"});
  return *dtype;
}

Checkpoint open(const ModelOptions& options) {
  const bool random = !options.random_weights.empty();
  if (random && !options.path.empty()) {
    throw input_error({"the model", in_quotes(options.path) + " and --random-weights " + printable(options.random_weights),
                       "one of the two"});
  }
  if (random) return Checkpoint::random(shipped_config(options.random_weights), random_dtype(options.dtype));
  if (!options.dtype.empty())
    throw input_error({"--dtype", in_quotes(options.dtype, 40), "no such option with a file", "it goes with --random-weights"});
  if (options.path.empty()) throw input_error({"the model", "not given", "MODEL, -m MODEL or --random-weights NAME"});
  return Checkpoint::open(options.path);
}

EngineOptions engine_options(const ModelOptions& options) {
  EngineOptions engine;
  engine.device = options.device.empty() ? default_device() : parse_device(options.device);
  engine.chunk = options.chunk;
  engine.fuse = !options.no_fuse;
  if (options.executor == "eager") {
    engine.executor = ExecutorKind::eager;
  } else if (!options.executor.empty() && options.executor != "graph") {
    throw input_error({"--executor", in_quotes(options.executor, 40), "eager or graph"});
  } else if (options.executor == "graph" && engine.device.kind == DeviceKind::cpu) {
    throw input_error({"--executor", "graph, on the CPU", "eager there", "graphs need a CUDA device"});
  }
  return engine;
}

}  // namespace

void add_model_choice(CLI::App& app, ModelOptions& options) {
  add_word(app, "-m,--model,MODEL", options.path, "MODEL",
           "A GGUF file, a .safetensors file beside its config.json, or a folder of Hugging Face's");
  add_word(app, "--random-weights", options.random_weights, "NAME",
           "In place of a file: a shipped config with random weights (qwen2.5-1.5b, llama-3.1-8b, ...)");
  add_word(app, "--dtype", options.dtype, "TYPE", "Of random weights: bf16 (default), f16 or f32");
}

void add_execution_options(CLI::App& app, ModelOptions& options) {
  const char* group = "Execution";
  add_word(app, "--device", options.device, "DEVICE", "cpu, cuda or cuda:N (default: the first usable GPU, else the CPU)")
      ->group(group);
  add_integer(app, "-t,--threads", options.threads, {1, kMaxThreads}, "CPU threads (default: one per usable core)")
      ->group(group);
  add_word(app, "--executor", options.executor, "KIND", "graph (default on a GPU) or eager: how a decode step is launched")
      ->group(group);
  add_integer(app, "--chunk", options.chunk, {1, kMaxChunk}, "Tokens of one prefill step (default 512)")->group(group);
  app.add_flag("--no-fuse", options.no_fuse, "Keep every op on its own")->group(group);
  app.add_flag("--no-pdl", options.no_pdl, "No programmatic dependent launch on a GPU")->group(group);
}

void add_context_option(CLI::App& app, ModelOptions& options) {
  add_integer(app, "-c,--ctx-size", options.context, {0, kMaxTokens},
              "Context in tokens (default 0: the model's own, at most 4096)");
}

LoadedModel::LoadedModel(const ModelOptions& options) : options_(options) {
  const auto start = std::chrono::steady_clock::now();
  device_ = engine_options(options_).device;
  rafter::device(device_);  // what is wrong with those is said before a file is opened
  checkpoint_ = std::make_unique<Checkpoint>(open(options_));
  if (const std::vector<std::string>& unused = checkpoint_->tensors().unused; !unused.empty()) {
    note(fmt::format("{} of {} {} no part of a {} model and not used: {}{}.\n",
                     unused.size() == 1 ? "One tensor" : fmt::format("{} tensors", unused.size()),
                     in_quotes(checkpoint_->path()), unused.size() == 1 ? "is" : "are", name(config().architecture),
                     in_quotes(unused[0], 120), unused.size() == 1 ? "" : ", ..."));
  }
  load_seconds_ = seconds_since(start);
}

void LoadedModel::open_tokenizer() {
  if (checkpoint_->is_random()) return;
  const auto start = std::chrono::steady_clock::now();
  tokenizer_.emplace(checkpoint_->tokenizer());
  load_seconds_ += seconds_since(start);
}

void LoadedModel::start(int64_t context, int64_t batch) {
  const auto start = std::chrono::steady_clock::now();
  if (options_.threads > 0) set_cpu_threads(static_cast<int>(options_.threads));
#if defined(RAFTER_WITH_CUDA)
  cuda::enable_dependent_launch(!options_.no_pdl);
#endif
  EngineOptions engine = engine_options(options_);
  engine.context = context;
  engine.batch = batch;
  Progress progress("loading " + config().name);
  engine_ = std::make_unique<Engine>(*checkpoint_, engine, [&](double fraction) {
    if (interrupted()) throw Interrupted{};
    progress.update(fraction);
  });
  load_seconds_ += seconds_since(start);
}

int LoadedModel::threads() const { return cpu_threads().size(); }

}  // namespace rafter
