// A model on a device, with its cache: prefill a sequence, decode one token at a time.
//
// Sequence 0..batch-1 are rows of the KV cache. Decode steps all of them at once. Plans are built on first use and kept;
// a decode step on a GPU is one replay of a CUDA graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rafter/engine/kv_cache.h"
#include "rafter/engine/program.h"
#include "rafter/engine/weights.h"
#include "rafter/models/step_plan.h"

namespace rafter {

enum class ExecutorKind : uint8_t { eager, graph };
inline std::string_view name(ExecutorKind kind) { return kind == ExecutorKind::graph ? "graph" : "eager"; }

struct EngineOptions {
  DeviceId device = {};
  int64_t context = 0;                          // tokens a sequence may have; 0 means the model's own, at most 4096
  int64_t batch = 1;                            // sequences decoded together
  int64_t chunk = 512;                          // tokens of one prefill step
  ExecutorKind executor = ExecutorKind::graph;  // the CPU always runs eagerly
  bool fuse = true;
};

// What an engine asks of its device.
struct MemoryNeed {
  int64_t weights = 0;  // those that stay in the mapped file do not count
  int64_t cache = 0;
  int64_t work = 0;  // of a prefill step and a decode step
  int64_t total() const { return weights + cache + work; }
};

class Engine {
 public:
  // `checkpoint` must outlive the engine. An input Error where the context or batch is out of range; a runtime Error, before
  // anything is loaded, where the CPU has no memory for it.
  Engine(const Checkpoint& checkpoint, const EngineOptions& options, const LoadProgress& progress = {});
  ~Engine();
  // Of an engine with these options, from shapes alone.
  static MemoryNeed memory_need(const Checkpoint& checkpoint, const EngineOptions& options);

  const ModelConfig& config() const { return checkpoint_.config(); }
  const EngineOptions& options() const { return options_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Weights& weights() const { return weights_; }
  const KvCache& cache() const { return cache_; }
  Stream& stream() { return *stream_; }
  DType activation() const { return activation_; }

  int64_t length(int64_t sequence) const { return lengths_[static_cast<size_t>(sequence)]; }
  // Forgets what follows the first `tokens` tokens.
  void truncate(int64_t sequence, int64_t tokens);
  // Pages for `more` tokens after every sequence's own: for whoever runs a program by hand.
  void reserve(int64_t more);

  // Appends tokens in chunks. Gives logits of the last token, of all of them ([tokens, vocab]), or none.
  // An input Error beyond the context or where a token is out of the vocabulary; nothing is appended then.
  std::vector<float> prefill(int64_t sequence, std::span<const int32_t> tokens, LogitRows rows = LogitRows::last);

  // One token for every sequence of the batch; gives logits [batch, vocab] on the host.
  std::span<const float> decode(std::span<const int32_t> tokens);

  // Greedy decoding that stays on the device: start with each sequence's token, then each step() enqueues one decode
  // step and take() waits for the oldest result not yet taken. Steps may run ahead of takes by up to kAhead.
  static constexpr int kAhead = 2;
  void greedy_start(std::span<const int32_t> tokens);
  void greedy_step();
  std::span<const int32_t> greedy_take();
  int greedy_pending() const { return pending_; }
  void synchronize() { stream_->synchronize(); }

  // The step's program, for trace and bench: made where there is none yet.
  Program& decode_program(bool greedy);
  Program& prefill_program(int64_t tokens, LogitRows rows, int64_t sequence = 0);
  // Makes (and captures) the decode step, so that the first step costs no more than the others.
  void prepare_decode(bool greedy);

 private:
  std::unique_ptr<Program> make_program(const StepSpec& spec, int64_t sequence);
  bool replays() const;
  void run(Program& program, bool replayable);
  void check_room(int64_t sequence, int64_t more) const;
  void check_tokens(std::span<const int32_t> tokens) const;
  void place_inputs(const Tensor& tokens, const Tensor& positions, std::span<const int32_t> token_values,
                    int64_t first_position);

  const Checkpoint& checkpoint_;
  EngineOptions options_;
  Device& device_;
  Weights weights_;
  DType activation_;
  KvCache cache_;
  std::unique_ptr<Stream> stream_;
  Buffer tokens_, positions_;                  // of decode: i32 [batch]
  Buffer prefill_tokens_, prefill_positions_;  // of prefill: i32 [chunk]
  PinnedBuffer staging_, logits_host_, next_host_;
  std::unique_ptr<Event> staging_free_;
  bool staging_used_ = false;
  std::vector<int64_t> lengths_;
  std::unique_ptr<Program> decode_, greedy_;
  struct PrefillKey {
    int64_t sequence, tokens;
    LogitRows rows;
    auto operator<=>(const PrefillKey&) const = default;
  };
  std::map<PrefillKey, std::unique_ptr<Program>> prefills_;
  std::vector<std::unique_ptr<Event>> taken_;
  int64_t steps_started_ = 0;
  int pending_ = 0;
};

}  // namespace rafter
