// The paged KV cache: fixed pages of 16 tokens, handed to sequences as they grow.
//
// A sequence is a row of the block table. Pages are the same for all layers: page p of every layer's cache belongs to
// whoever holds p. The table lives on the device; a change is one small copy in stream order.
#pragma once

#include <cstdint>
#include <vector>

#include "rafter/device/buffer.h"
#include "rafter/models/config.h"

namespace rafter {

class KvCache {
 public:
  // Room for `sequences` of up to `context` tokens each.
  KvCache(const ModelConfig& config, DType dtype, int64_t sequences, int64_t context, Device& device);
  static int64_t pages_for(int64_t tokens);
  // What bytes() would be.
  static int64_t bytes_needed(const ModelConfig& config, DType dtype, int64_t sequences, int64_t context);

  int64_t context() const { return context_; }
  int64_t sequences() const { return sequences_; }
  int64_t pages() const { return pages_; }
  int64_t pages_per_sequence() const { return pages_per_sequence_; }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t bytes() const { return bytes_; }
  DType dtype() const { return dtype_; }

  // Gives `sequence` pages for its first `tokens` tokens; an input Error beyond the context.
  void reserve(int64_t sequence, int64_t tokens, Stream& stream);
  // Gives back the pages after the first `tokens` tokens.
  void shrink(int64_t sequence, int64_t tokens);

  const Tensor& keys(int64_t layer) const { return keys_[static_cast<size_t>(layer)]; }
  const Tensor& values(int64_t layer) const { return values_[static_cast<size_t>(layer)]; }
  // i32 [sequences, pages_per_sequence]
  const Tensor& block_table() const { return table_; }

 private:
  int64_t context_, sequences_, pages_per_sequence_, pages_;
  DType dtype_;
  int64_t bytes_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<Tensor> keys_, values_;
  Buffer table_buffer_;
  Tensor table_;
  PinnedBuffer table_host_;
  std::vector<int32_t> free_;
  std::vector<int64_t> held_;  // pages of each sequence
};

}  // namespace rafter
