#include "rafter/engine/engine.h"

#include <algorithm>
#include <cstring>

#include "rafter/base/error.h"
#include "rafter/base/host_memory.h"
#include "rafter/base/units.h"
#include "rafter/device/allocator.h"
#include "rafter/passes/fuse.h"

namespace rafter {

namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr size_t kKeptPrefills = 8;  // chat turns come in every length: programs beyond this many are rebuilt

EngineOptions complete(EngineOptions options, const ModelConfig& config) {
  if (options.context == 0) options.context = std::min(config.context, kDefaultContext);
  const auto within = [](const char* what, int64_t value, int64_t limit, const char* remedy) {
    if (value < 1 || value > limit) {
      throw input_error({what, std::to_string(value), fmt::format("1 to {}", limit), remedy});
    }
  };
  within("the context (-c)", options.context, config.context, "the model was made for that many positions");
  within("the batch (-b)", options.batch, 256, "");
  within("the prefill chunk (--chunk)", options.chunk, 16384, "");
  options.chunk = std::min(options.chunk, options.context);
  if (options.device.kind == DeviceKind::cpu) options.executor = ExecutorKind::eager;
  return options;
}

// What the steps of an engine with these (complete) options have in common.
StepSpec step_spec(const Checkpoint& checkpoint, const EngineOptions& options, OpKind attention) {
  StepSpec spec;
  spec.attention = attention;
  spec.pages_per_sequence = KvCache::pages_for(options.context);
  spec.cache_pages = options.batch * spec.pages_per_sequence;
  spec.activation = activation_dtype(checkpoint.dtype(), options.device.kind);
  spec.cache = cache_dtype(checkpoint.dtype());
  return spec;
}

StepSpec decode_spec(const Checkpoint& checkpoint, const EngineOptions& options, bool greedy) {
  StepSpec spec = step_spec(checkpoint, options, OpKind::attention_decode);
  spec.tokens = options.batch;
  spec.logits = LogitRows::all;
  spec.greedy = greedy;
  return spec;
}

StepSpec prefill_spec(const Checkpoint& checkpoint, const EngineOptions& options, int64_t tokens, LogitRows rows) {
  StepSpec spec = step_spec(checkpoint, options, OpKind::attention_prefill);
  spec.tokens = tokens;
  spec.logits = rows;
  return spec;
}

Plan make_plan(const Checkpoint& checkpoint, const EngineOptions& options, const StepSpec& spec) {
  Plan plan = build_step(checkpoint.config(), checkpoint.tensors(), spec);
  if (options.fuse) fuse(plan);
  return plan;
}

// Memory that the CPU does not have is granted all the same, and the process that writes to it is killed: it must be refused
// first. A GPU refuses by itself.
const EngineOptions& with_room(const EngineOptions& options, const Checkpoint& checkpoint) {
  if (options.device.kind != DeviceKind::cpu) return options;
  Device& cpu = device(options.device);
  cpu.allocator().trim();
  const MemoryNeed need = Engine::memory_need(checkpoint, options);
  const int64_t free = cpu.info().free_bytes;
  if (need.total() <= free) return options;
  HostMemory memory = host_memory();
  memory.available = free;  // less what is promised to others
  throw runtime_failure({fmt::format("the memory for {} (weights {}, KV cache of {} x {} tokens {}, work {})",
                                     in_quotes(checkpoint.config().name, 80), format_capacity(need.weights), options.batch,
                                     options.context, format_capacity(need.cache), format_capacity(need.work)),
                         format_capacity(need.total()), "at most what is free, " + describe(memory),
                         "use a smaller context, batch or model"});
}

}  // namespace

MemoryNeed Engine::memory_need(const Checkpoint& checkpoint, const EngineOptions& given) {
  const EngineOptions options = complete(given, checkpoint.config());
  const auto work = [&](const StepSpec& spec) {
    return Program::bytes_needed(make_plan(checkpoint, options, spec), options.device);
  };
  MemoryNeed need;
  need.weights = Weights::device_bytes_needed(checkpoint, options.device.kind);
  need.cache = KvCache::bytes_needed(checkpoint.config(), cache_dtype(checkpoint.dtype()), options.batch, options.context);
  need.work =
      work(prefill_spec(checkpoint, options, options.chunk, LogitRows::last)) + work(decode_spec(checkpoint, options, false));
  return need;
}

Engine::Engine(const Checkpoint& checkpoint, const EngineOptions& options, const LoadProgress& progress)
    : checkpoint_(checkpoint),
      options_(with_room(complete(options, checkpoint.config()), checkpoint)),
      device_(device(options_.device)),
      weights_(checkpoint, device_, progress),
      activation_(activation_dtype(checkpoint.dtype(), options_.device.kind)),
      cache_(checkpoint.config(), cache_dtype(checkpoint.dtype()), options_.batch, options_.context, device_),
      stream_(device_.make_stream()),
      tokens_(device_, options_.batch * 4),
      positions_(device_, options_.batch * 4),
      prefill_tokens_(device_, options_.chunk * 4),
      prefill_positions_(device_, options_.chunk * 4),
      staging_(device_, 2 * std::max(options_.chunk, options_.batch) * 4),
      next_host_(device_, kAhead * options_.batch * 4),
      staging_free_(stream_->make_event()),
      lengths_(static_cast<size_t>(options_.batch), 0) {
  for (int i = 0; i < kAhead; ++i) taken_.push_back(stream_->make_event());
}

Engine::~Engine() = default;

std::unique_ptr<Program> Engine::make_program(const StepSpec& spec, int64_t sequence) {
  Plan plan = make_plan(checkpoint_, options_, spec);
  const bool decode = spec.attention == OpKind::attention_decode;
  const auto bind = [&](const Value& value) -> Tensor {
    if (value.role == Role::weight) return weights_.at(value.name);
    if (value.name == "tokens") return (decode ? tokens_ : prefill_tokens_).tensor(DType::i32, value.shape);
    if (value.name == "positions") return (decode ? positions_ : prefill_positions_).tensor(DType::i32, value.shape);
    if (value.name == "block_table") {
      if (decode) return cache_.block_table();
      return Tensor::contiguous(DType::i32, value.shape, cache_.block_table().row(sequence), device_.id());
    }
    const int64_t layer = std::stoll(value.name.substr(value.name.find('.') + 1));
    return value.name.starts_with("cache_k") ? cache_.keys(layer) : cache_.values(layer);
  };
  return std::make_unique<Program>(std::move(plan), device_, bind);
}

Program& Engine::decode_program(bool greedy) {
  std::unique_ptr<Program>& program = greedy ? greedy_ : decode_;
  if (!program) program = make_program(decode_spec(checkpoint_, options_, greedy), 0);
  return *program;
}

Program& Engine::prefill_program(int64_t tokens, LogitRows rows, int64_t sequence) {
  const PrefillKey key{sequence, tokens, rows};
  if (!prefills_.contains(key)) {
    if (prefills_.size() >= kKeptPrefills) {
      stream_->synchronize();  // the program that goes may still be running
      prefills_.erase(prefills_.begin());
    }
    prefills_[key] = make_program(prefill_spec(checkpoint_, options_, tokens, rows), sequence);
  }
  return *prefills_[key];
}

bool Engine::replays() const { return options_.executor == ExecutorKind::graph && device_.has_graphs(); }

void Engine::prepare_decode(bool greedy) {
  Program& program = decode_program(greedy);
  if (replays()) program.capture(*stream_);
}

void Engine::run(Program& program, bool replayable) {
  if (replayable && replays()) {
    program.replay(*stream_);
  } else {
    program.run(*stream_);
  }
}

void Engine::check_room(int64_t sequence, int64_t more) const {
  const int64_t total = length(sequence) + more;
  if (total > cache_.context()) {
    throw input_error({"the sequence", fmt::format("{} tokens long", total),
                       fmt::format("at most the context of {}", cache_.context()), "raise -c or shorten the prompt"});
  }
}

void Engine::check_tokens(std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens) {
    if (token < 0 || token >= config().vocab) {
      throw input_error({"a token", std::to_string(token), fmt::format("0 to {}", config().vocab - 1)});
    }
  }
}

// Tokens and positions go through pinned memory, reused only after its last copy is done.
void Engine::place_inputs(const Tensor& tokens, const Tensor& positions, std::span<const int32_t> token_values,
                          int64_t first_position) {
  if (staging_used_) staging_free_->wait();
  auto* host_tokens = staging_.as<int32_t>();
  auto* host_positions = host_tokens + token_values.size();
  for (size_t i = 0; i < token_values.size(); ++i) {
    host_tokens[i] = token_values[i];
    host_positions[i] = static_cast<int32_t>(first_position >= 0 ? first_position + static_cast<int64_t>(i) : lengths_[i]);
  }
  const auto bytes = static_cast<int64_t>(token_values.size()) * 4;
  stream_->copy_in(tokens.data, host_tokens, bytes);
  stream_->copy_in(positions.data, host_positions, bytes);
  stream_->record(*staging_free_);
  staging_used_ = true;
}

void Engine::truncate(int64_t sequence, int64_t tokens) {
  int64_t& length = lengths_[static_cast<size_t>(sequence)];
  length = std::min(length, tokens);
  cache_.shrink(sequence, length);
}

void Engine::reserve(int64_t more) {
  for (int64_t sequence = 0; sequence < options_.batch; ++sequence) {
    check_room(sequence, more);
    cache_.reserve(sequence, length(sequence) + more, *stream_);
  }
}

std::vector<float> Engine::prefill(int64_t sequence, std::span<const int32_t> tokens, LogitRows rows) {
  check_tokens(tokens);
  check_room(sequence, static_cast<int64_t>(tokens.size()));
  std::vector<float> logits;
  while (!tokens.empty()) {
    const auto chunk = tokens.first(std::min(tokens.size(), static_cast<size_t>(options_.chunk)));
    tokens = tokens.subspan(chunk.size());
    const auto count = static_cast<int64_t>(chunk.size());
    const LogitRows wanted = rows == LogitRows::last && !tokens.empty() ? LogitRows::none : rows;
    Program& program = prefill_program(count, wanted, sequence);
    int64_t& length = lengths_[static_cast<size_t>(sequence)];
    cache_.reserve(sequence, length + count, *stream_);
    place_inputs(program.tensor("tokens"), program.tensor("positions"), chunk, length);
    run(program, false);
    length += count;
    if (wanted == LogitRows::none) continue;
    const Tensor& out = program.tensor("logits");
    const size_t at = logits.size();
    logits.resize(at + static_cast<size_t>(out.shape.elements()));
    stream_->copy_out(logits.data() + at, out.data, out.bytes());
    stream_->synchronize();
  }
  return logits;
}

std::span<const float> Engine::decode(std::span<const int32_t> tokens) {
  check_tokens(tokens);
  for (int64_t s = 0; s < options_.batch; ++s) {
    check_room(s, 1);
    cache_.reserve(s, length(s) + 1, *stream_);
  }
  Program& program = decode_program(false);
  place_inputs(program.tensor("tokens"), program.tensor("positions"), tokens, -1);
  run(program, true);
  for (int64_t& length : lengths_) ++length;
  const Tensor& out = program.tensor("logits");
  if (logits_host_.as<float>() == nullptr) logits_host_ = PinnedBuffer(device_, out.bytes());
  stream_->copy_out(logits_host_.as<float>(), out.data, out.bytes());
  stream_->synchronize();
  return {logits_host_.as<float>(), static_cast<size_t>(out.shape.elements())};
}

void Engine::greedy_start(std::span<const int32_t> tokens) {
  check_tokens(tokens);
  Program& program = decode_program(true);
  place_inputs(program.tensor("tokens"), program.tensor("positions"), tokens, -1);
  pending_ = 0;
}

void Engine::greedy_step() {
  if (pending_ == kAhead)
    throw runtime_failure({"greedy steps not taken", std::to_string(pending_), fmt::format("under {}", kAhead)});
  for (int64_t s = 0; s < options_.batch; ++s) {
    check_room(s, 1);
    cache_.reserve(s, length(s) + 1, *stream_);
  }
  Program& program = decode_program(true);
  run(program, true);
  for (int64_t& length : lengths_) ++length;
  const auto slot = static_cast<size_t>(steps_started_++ % kAhead);
  stream_->copy_out(next_host_.as<int32_t>() + static_cast<int64_t>(slot) * options_.batch, program.tensor("next").data,
                    options_.batch * 4);
  stream_->record(*taken_[slot]);
  ++pending_;
}

std::span<const int32_t> Engine::greedy_take() {
  if (pending_ == 0) throw runtime_failure({"greedy results to take", "0", "1 or more"});
  const auto slot = static_cast<size_t>((steps_started_ - pending_) % kAhead);
  taken_[slot]->wait();
  --pending_;
  return {next_host_.as<int32_t>() + static_cast<int64_t>(slot) * options_.batch, static_cast<size_t>(options_.batch)};
}

}  // namespace rafter
