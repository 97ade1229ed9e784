#include "rafter/engine/kv_cache.h"

#include "rafter/base/error.h"
#include "rafter/ops/rope_kv.h"

namespace rafter {

namespace {

// Keys, or values, of one layer.
Shape layer_shape(const ModelConfig& config, int64_t pages) { return {pages, config.kv_heads, kPageTokens, config.head_dim}; }

}  // namespace

int64_t KvCache::pages_for(int64_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

int64_t KvCache::bytes_needed(const ModelConfig& config, DType dtype, int64_t sequences, int64_t context) {
  const Shape shape = layer_shape(config, sequences * pages_for(context));
  return 2 * config.layers * shape.rows() * row_bytes(dtype, shape.last());
}

KvCache::KvCache(const ModelConfig& config, DType dtype, int64_t sequences, int64_t context, Device& device)
    : context_(context),
      sequences_(sequences),
      pages_per_sequence_(pages_for(context)),
      pages_(sequences * pages_per_sequence_),
      dtype_(dtype),
      table_buffer_(device, sequences * pages_per_sequence_ * 4),
      table_(table_buffer_.tensor(DType::i32, {sequences, pages_per_sequence_})),
      table_host_(device, sequences * pages_per_sequence_ * 4),
      held_(static_cast<size_t>(sequences), 0) {
  const Shape shape = layer_shape(config, pages_);
  const int64_t layer_bytes = shape.rows() * row_bytes(dtype, shape.last());
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    for (auto* side : {&keys_, &values_}) {
      buffers_.emplace_back(device, layer_bytes);
      side->push_back(buffers_.back().tensor(dtype, shape));
      bytes_ += layer_bytes;
    }
  }
  // The lowest page last, so that it is handed out first.
  for (int64_t page = pages_ - 1; page >= 0; --page) free_.push_back(static_cast<int32_t>(page));
  for (int64_t i = 0; i < sequences * pages_per_sequence_; ++i) table_host_.as<int32_t>()[i] = 0;
  auto stream = device.make_stream();
  stream->copy_in(table_.data, table_host_.as<int32_t>(), table_.bytes());
  stream->synchronize();
}

void KvCache::reserve(int64_t sequence, int64_t tokens, Stream& stream) {
  if (tokens > context_) {
    throw input_error({fmt::format("sequence {}'s length", sequence), fmt::format("{} tokens", tokens),
                       fmt::format("at most the context of {}", context_), "raise -c or shorten the prompt"});
  }
  int64_t& held = held_[static_cast<size_t>(sequence)];
  const int64_t needed = pages_for(tokens), first = held;
  int32_t* row = table_host_.as<int32_t>() + sequence * pages_per_sequence_;
  for (; held < needed; ++held) {
    row[held] = free_.back();
    free_.pop_back();
  }
  // The host copy of an entry changes only after shrink(), so the copy may run late.
  if (held > first) stream.copy_in(table_.row<int32_t>(sequence) + first, row + first, (held - first) * 4);
}

void KvCache::shrink(int64_t sequence, int64_t tokens) {
  int64_t& held = held_[static_cast<size_t>(sequence)];
  const int64_t kept = pages_for(tokens);
  const int32_t* row = table_host_.as<int32_t>() + sequence * pages_per_sequence_;
  while (held > kept) free_.push_back(row[--held]);
}

}  // namespace rafter
