// 02_lanes: weight rows sixteen at a time, a row a vector lane, so that no product needs a sum across lanes, and the
// dot products of block formats in the processor's own byte instructions. One token streams the weights, fetched some
// 24 KB ahead; more tokens share what was unpacked of them.
//
// Measured on one core of a Zen 4 at 3.6 GHz, gate and up of SmolLM2-135M (q4_1, 3072 x 576): one token 3530 us by
// 01_naive, 46 us here (24 GB/s of weights that the caches hold; from memory what memory gives); 64 tokens 303 ms and
// 1.32 ms (86 G multiply-adds/s).
#include <algorithm>
#include <atomic>

#include "rafter/base/threads.h"
#include "rafter/kernels/matmul/cpu_lanes.h"
#include "rafter/kernels/matmul/cpu_parts.h"
#include "rafter/kernels/prefetch.h"
#include "rafter/ops/matmul.h"

namespace rafter {

namespace {

using matmul_cpu::BlockKernels;
using matmul_cpu::Finish;
using matmul_cpu::FinishKernels;
using matmul_cpu::GroupStats;
using matmul_cpu::kGroup;
using matmul_cpu::kPad;
using matmul_cpu::kRows;
using matmul_cpu::PlainKernels;
using matmul_cpu::Prepared;
using matmul_cpu::PrepareKernels;

constexpr int64_t kTileTokens = 64;  // tokens between a multiplication and its finish: the tile stays in the L1 cache

constexpr int64_t kAheadBytes = 24 << 10;  // of weights on their way from memory while those before are multiplied

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

const Tensor& weight(const OpView& op, int i) { return op.inputs[static_cast<size_t>(matmul::weights + i)]; }

// Where everything lies in the workspace.
class Scratch {
 public:
  Scratch(const OpView& op, int threads) : k_(op.inputs[matmul::x].shape[1]), tokens_(op.inputs[matmul::x].shape[0]) {
    bool blocks = false, plain = false;
    for (int i = 0; i < matmul::weight_count(op); ++i) (is_quantised(weight(op, i).dtype) ? blocks : plain) = true;
    k_padded_ = ceil_div(k_, kPad) * kPad;
    // One token is prepared by every thread for itself: that takes less time than waiting for another to do it.
    const int64_t copies = tokens_ == 1 ? threads : 1;
    values_ = take(plain, copies * tokens_ * k_padded_ * 4);
    q_ = take(blocks, copies * tokens_ * 2 * k_);
    stats_ = take(blocks, copies * tokens_ * (k_ / kGroup) * static_cast<int64_t>(sizeof(GroupStats)));
    row_ = take(!plain, threads * k_padded_ * 4);
    panel_bytes_ = blocks && tokens_ > 1 ? (matmul_cpu::block_kernels().panel_bytes(k_) + 63) / 64 * 64 : 0;
    panels_ = take(panel_bytes_ > 0, threads * 2 * panel_bytes_);
    tiles_ = take(true, threads * 2 * kTileFloats * 4);
    base_ = static_cast<std::byte*>(op.workspace);
    base_ += -reinterpret_cast<uintptr_t>(base_) % 64;
  }

  int64_t bytes() const { return end_ + 64; }

  // `copy` is a thread's number where each prepares its own.
  Prepared prepared(int64_t copy) const {
    const Prepared all{k_, k_padded_, at<float>(values_), at<int8_t>(q_), at<GroupStats>(stats_)};
    return all.from(copy * tokens_);
  }
  float* row(int thread) const { return row_ < 0 ? nullptr : at<float>(row_) + thread * k_padded_; }
  std::byte* panel(int thread, int which) const { return at<std::byte>(panels_) + (2 * thread + which) * panel_bytes_; }
  float* tile(int thread, int which) const { return at<float>(tiles_) + (2 * thread + which) * kTileFloats; }

 private:
  static constexpr int64_t kTileFloats = kTileTokens * kRows + kRows;  // a tail's first column may be shifted

  int64_t take(bool wanted, int64_t bytes) {
    if (!wanted) return -1;
    const int64_t begin = end_;
    end_ += (bytes + 63) / 64 * 64;
    return begin;
  }
  template <typename T>
  T* at(int64_t offset) const {
    return offset < 0 ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }

  int64_t k_, tokens_, k_padded_, panel_bytes_;
  int64_t values_, q_, stats_, row_, panels_, tiles_;
  int64_t end_ = 0;
  std::byte* base_;
};

// Sixteen rows of one weight, and the columns of y they make. The last rows of a weight whose N is no multiple of
// sixteen are multiplied together with some before them, `skip` in number, which are not theirs to store.
struct Piece {
  int weight;
  int64_t row, column, columns, skip;
};

class Multiplication {
 public:
  Multiplication(const OpView& op, int threads)
      : op_(op),
        scratch_(op, threads),
        gated_(op.attrs<MatmulAttrs>().swiglu),
        tokens_(op.inputs[matmul::x].shape[0]),
        parts_(gated_ ? 1 : matmul::weight_count(op)) {
    for (int i = 0; i < parts_; ++i) pieces_ += ceil_div(weight(op, i).shape[0], kRows);
    // Where pieces are too few to keep all threads busy, tokens are shared out too.
    const int64_t wanted = ceil_div(4 * threads, std::max<int64_t>(pieces_, 1));
    splits_ = std::clamp<int64_t>(wanted, 1, ceil_div(tokens_, kTileTokens));
  }

  int64_t items() const { return pieces_ * splits_; }

  void prepare(int thread, int64_t copy, int64_t begin, int64_t end) const {
    const Tensor &x = op_.inputs[matmul::x], &norm = op_.inputs[matmul::norm];
    for (int64_t t = begin; t < end; ++t) {
      prepare_.prepare(x.dtype, x.row(t), norm.present() ? norm.as<float>() : nullptr, op_.attrs<MatmulAttrs>().norm_epsilon,
                       scratch_.row(thread), scratch_.prepared(copy).from(t));
    }
  }

  // Asks memory for the rows that run() starts with, items `begin` and on.
  void prefetch_start(int64_t begin, int64_t end) const {
    for (int64_t item = begin; item < std::min(end, begin + ahead(piece_of(begin))); ++item) {
      const Piece piece = piece_of(item);
      for (int which = 0; which <= (gated_ ? 1 : 0); ++which) {
        const Tensor& w = weight(op_, piece.weight + which);
        for (int64_t line = 0; line < kRows * w.row_stride; line += 64) prefetch(w.row(piece.row) + line);
      }
    }
  }

  void run(int thread, int64_t copy, int64_t item) const {
    const Piece piece = piece_of(item / splits_);
    const int64_t split = item % splits_;
    const int64_t begin = tokens_ * split / splits_, end = tokens_ * (split + 1) / splits_;
    if (tokens_ > 1) unpack(thread, piece);
    for (int64_t t = begin; t < end; t += kTileTokens) {
      const int64_t tokens = std::min(kTileTokens, end - t);
      const Prepared x = scratch_.prepared(copy).from(t);
      for (int which = 0; which <= (gated_ ? 1 : 0); ++which) multiply(thread, piece, which, x, tokens);
      store(thread, piece, t, tokens);
    }
  }

 private:
  Piece piece_of(int64_t index) const {
    int64_t column = 0;
    for (int i = 0;; ++i) {
      const int64_t n = weight(op_, i).shape[0], pieces = ceil_div(n, kRows);
      if (index < pieces) {
        const int64_t first = index * kRows, row = std::min(first, n - kRows);
        return {i, row, column + first, std::min(kRows, n - first), first - row};
      }
      index -= pieces;
      column += n;
    }
  }

  // How many pieces before their turn weights are fetched.
  int64_t ahead(const Piece& piece) const {
    const int64_t bytes = kRows * weight(op_, piece.weight).row_stride * (gated_ ? 2 : 1);
    return std::max<int64_t>(1, kAheadBytes / std::max<int64_t>(bytes, 1));
  }

  void unpack(int thread, const Piece& piece) const {
    for (int which = 0; which <= (gated_ ? 1 : 0); ++which) {
      const Tensor& w = weight(op_, piece.weight + which);
      if (is_quantised(w.dtype))
        blocks_.unpack(w.dtype, w.row(piece.row), w.row_stride, w.shape[1], scratch_.panel(thread, which));
    }
  }

  void multiply(int thread, const Piece& piece, int which, const Prepared& x, int64_t tokens) const {
    const Tensor& w = weight(op_, piece.weight + which);
    float* z = scratch_.tile(thread, which);
    if (!is_quantised(w.dtype)) {
      plain_.multiply(w.dtype, w.row(piece.row), w.row_stride, x, tokens, z);
    } else if (tokens_ > 1) {
      blocks_.multiply_panel(w.dtype, scratch_.panel(thread, which), x, tokens, z);
    } else {
      const int64_t next = std::min(piece.row + ahead(piece) * kRows, w.shape[0] - kRows);
      blocks_.multiply_once(w.dtype, w.row(piece.row), w.row_stride, w.row(next), x, z);
    }
  }

  void store(int thread, const Piece& piece, int64_t t, int64_t tokens) const {
    const Tensor &y = op_.outputs[matmul::y], &residual = op_.inputs[matmul::residual], &bias = op_.inputs[matmul::bias];
    const int64_t offset = row_bytes(y.dtype, piece.column);
    const float* first = bias.present() ? bias.as<float>() + piece.column : nullptr;
    finish_.finish({.tokens = tokens,
                    .columns = piece.columns,
                    .skip = piece.skip,
                    .z = scratch_.tile(thread, 0),
                    .z_up = gated_ ? scratch_.tile(thread, 1) : nullptr,
                    .bias = first,
                    .bias_up = gated_ && first != nullptr ? first + y.shape[1] : nullptr,
                    .dtype = y.dtype,
                    .y = y.row(t) + offset,
                    .y_stride = y.row_stride,
                    .residual = residual.present() ? residual.row(t) + offset : nullptr,
                    .residual_stride = residual.row_stride});
  }

  const OpView& op_;
  const Scratch scratch_;
  const bool gated_;
  const int64_t tokens_;
  const int parts_;
  int64_t pieces_ = 0, splits_ = 1;
  const PrepareKernels prepare_ = matmul_cpu::prepare_kernels();
  const BlockKernels blocks_ = matmul_cpu::block_kernels();
  const PlainKernels plain_ = matmul_cpu::plain_kernels();
  const FinishKernels finish_ = matmul_cpu::finish_kernels();
};

bool supports(const OpView& op) {
  if (matmul_cpu::prepare_kernels().prepare == nullptr) return false;
  for (int i = 0; i < matmul::weight_count(op); ++i) {
    if (weight(op, i).shape[0] < kRows) return false;
  }
  return true;
}

// One section: each thread prepares the token and multiplies its share of the rows, in one sweep through memory.
void launch_one(const Multiplication& work, ThreadPool& threads) {
  threads.run([&](int thread) {
    const int64_t begin = work.items() * thread / threads.size(), end = work.items() * (thread + 1) / threads.size();
    work.prefetch_start(begin, end);
    work.prepare(thread, thread, 0, 1);
    for (int64_t item = begin; item < end; ++item) work.run(thread, thread, item);
  });
}

// Two sections: all tokens are prepared, then pieces go to whichever thread is free.
void launch_many(const Multiplication& work, int64_t tokens, ThreadPool& threads) {
  std::atomic<int64_t> next{0};
  threads.run(
      [&](int thread) { work.prepare(thread, 0, tokens * thread / threads.size(), tokens * (thread + 1) / threads.size()); });
  threads.run([&](int thread) {
    for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < work.items();) work.run(thread, 0, item);
  });
}

void launch(const OpView& op, Stream&) {
  const int64_t tokens = op.inputs[matmul::x].shape[0];
  if (tokens == 0) return;
  ThreadPool& threads = cpu_threads();
  const Multiplication work(op, threads.size());
  if (tokens == 1) {
    launch_one(work, threads);
  } else {
    launch_many(work, tokens, threads);
  }
}

int64_t workspace(const OpView& op) { return Scratch(op, cpu_threads().size()).bytes(); }

}  // namespace

Kernel matmul_cpu_lanes() {
  return {.op = OpKind::matmul,
          .device = DeviceKind::cpu,
          .name = "02_lanes",
          .step = 2,
          .supports = supports,
          .launch = launch,
          .workspace = workspace};
}

}  // namespace rafter
