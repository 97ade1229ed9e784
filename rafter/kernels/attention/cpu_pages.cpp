// 02_pages: a page of keys at a time, transposed so that a vector holds the scores of its sixteen keys, with the softmax
// kept running; all query heads of a KV head, and many tokens of a prompt, share what was loaded.
//
// Measured on one core of a Zen 4 at 3.6 GHz, nine query heads of 64 on three KV heads in f16: a prompt of 64 tokens
// 10.2 ms by 01_naive, 0.11 ms here; a token after 545 others 26 us from the caches and 36 us from memory (70 us with
// nothing asked for ahead); 22 tokens after 480 others 332 us, 10.4 multiply-adds a cycle of the 16 that f32 has there.
#include "rafter/kernels/attention/cpu_pages.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "rafter/base/threads.h"
#include "rafter/kernels/attention/cpu_parts.h"
#include "rafter/ops/attention.h"

namespace rafter {

namespace {

using attention_cpu::BlockKernels;
using attention_cpu::kBlockKeys;
using attention_cpu::kBlockPages;
using attention_cpu::Keys;
using attention_cpu::padded;
using attention_cpu::State;
using attention_cpu::state_bytes;

constexpr int64_t kItemRows = 64;  // rows (tokens times query heads) of one piece of work on a prompt

constexpr int64_t kMostShared = 64 << 20;  // bytes of states that wait to be joined
constexpr int64_t kWorthSharing = 64;      // rows to join; below, waking a thread takes longer than the work

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class Attention {
 public:
  Attention(const OpView& op, int threads)
      : op_(op),
        a_(op.attrs<AttentionAttrs>()),
        tokens_(op.inputs[attention::q].shape[0]),
        group_(a_.q_heads / a_.kv_heads),
        prompt_(op.inputs[attention::block_table].shape[0] == 1 && tokens_ > 1),
        item_tokens_(prompt_ ? std::max<int64_t>(1, kItemRows / group_) : 1),
        blocks_(ceil_div(op.inputs[attention::block_table].shape[1], kBlockPages)),
        state_bytes_(state_bytes(a_.head_dim)) {
    // Few sequences leave threads idle unless the keys of each are shared out, block by block.
    split_ = !prompt_ && blocks_ > 1 && tokens_ * a_.kv_heads < 4 * threads && shared_bytes() <= kMostShared;
    const int64_t rows = item_tokens_ * group_;
    pair_ = take(attention_cpu::pair_floats(a_.head_dim) * 4);
    queries_ = take(rows * padded(a_.head_dim) * 4);
    last_ = take(rows * 4);
    block_states_ = take(rows * state_bytes_);
    whole_states_ = take(rows * state_bytes_);
    shared_ = threads * thread_bytes_;
    base_ = static_cast<std::byte*>(op.workspace);
    base_ += -reinterpret_cast<uintptr_t>(base_) % 64;
  }

  int64_t bytes() const { return shared_ + (split_ ? shared_bytes() : 0) + 64; }
  bool split() const { return split_; }

  // ---- Items that see all their keys: a range of tokens and a KV head.

  int64_t items() const { return ceil_div(tokens_, item_tokens_) * a_.kv_heads; }

  void run(int thread, int64_t item) const {
    // The last tokens of a prompt have most keys: they go first.
    const int64_t range = ceil_div(tokens_, item_tokens_) - 1 - item / a_.kv_heads, head = item % a_.kv_heads;
    const int64_t begin = range * item_tokens_, end = std::min(tokens_, begin + item_tokens_);
    const int64_t rows = load_rows(thread, head, begin, end);
    const int32_t* last = at<int32_t>(thread, last_);
    for (int64_t r = 0; r < rows; ++r) kernels_.start(a_.head_dim, state(thread, whole_states_, r));
    const int64_t top = *std::max_element(last, last + rows);
    for (int64_t block = 0; block * kBlockKeys <= top; ++block) {
      attend(thread, head, begin, block, rows, at<std::byte>(thread, block_states_));
      for (int64_t r = 0; r < rows; ++r) {
        if (last[r] < block * kBlockKeys) continue;
        kernels_.merge(a_.head_dim, *state(thread, block_states_, r), state(thread, whole_states_, r));
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      finish(begin + r / group_, head * group_ + r % group_, state(thread, whole_states_, r));
    }
  }

  // ---- Items that see one block of keys: a sequence, a KV head, a block.

  int64_t block_items() const { return tokens_ * a_.kv_heads * blocks_; }

  void run_block(int thread, int64_t item) const {
    const int64_t t = item / (a_.kv_heads * blocks_), head = item / blocks_ % a_.kv_heads, block = item % blocks_;
    if (position(t) < block * kBlockKeys) return;
    const int64_t rows = load_rows(thread, head, t, t + 1);
    attend(thread, head, t, block, rows, at<std::byte>(thread, block_states_));
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(shared_state(t, head * group_ + r, block), state(thread, block_states_, r),
                  static_cast<size_t>(state_bytes_));
    }
  }

  // One row's blocks, in order.
  void join(int thread, int64_t row) const {
    const int64_t t = row / a_.q_heads, head = row % a_.q_heads;
    State* whole = state(thread, whole_states_, 0);
    kernels_.start(a_.head_dim, whole);
    for (int64_t block = 0; block * kBlockKeys <= position(t); ++block) {
      kernels_.merge(a_.head_dim, *shared_state(t, head, block), whole);
    }
    finish(t, head, whole);
  }

  int64_t rows() const { return tokens_ * a_.q_heads; }

 private:
  int64_t shared_bytes() const { return tokens_ * a_.q_heads * blocks_ * state_bytes_; }

  int64_t take(int64_t bytes) {
    const int64_t begin = thread_bytes_;
    thread_bytes_ += aligned(bytes);
    return begin;
  }
  template <typename T>
  T* at(int thread, int64_t offset) const {
    return reinterpret_cast<T*>(base_ + thread * thread_bytes_ + offset);
  }
  State* state(int thread, int64_t states, int64_t row) const {
    return reinterpret_cast<State*>(at<std::byte>(thread, states) + row * state_bytes_);
  }
  State* shared_state(int64_t t, int64_t head, int64_t block) const {
    return reinterpret_cast<State*>(base_ + shared_ + ((t * a_.q_heads + head) * blocks_ + block) * state_bytes_);
  }
  int64_t position(int64_t t) const { return op_.inputs[attention::positions].as<int32_t>()[t]; }

  // The queries of some tokens that read KV head `head`, and how far each may look.
  int64_t load_rows(int thread, int64_t head, int64_t begin, int64_t end) const {
    const Tensor& q = op_.inputs[attention::q];
    int64_t row = 0;
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t g = 0; g < group_; ++g, ++row) {
        kernels_.load_query(q.dtype, q.row(t) + row_bytes(q.dtype, (head * group_ + g) * a_.head_dim), a_.head_dim,
                            static_cast<float>(a_.scale), at<float>(thread, queries_) + row * padded(a_.head_dim));
        at<int32_t>(thread, last_)[row] = static_cast<int32_t>(position(t));
      }
    }
    return row;
  }

  void attend(int thread, int64_t head, int64_t t, int64_t block, int64_t rows, std::byte* states) const {
    const Tensor &k = op_.inputs[attention::k_cache], &v = op_.inputs[attention::v_cache];
    const Tensor& table = op_.inputs[attention::block_table];
    const int64_t first = head * kPageTokens;  // the head's first row in page 0
    const Keys keys = {.dtype = k.dtype,
                       .k = k.row(first),
                       .v = v.row(first),
                       .page_bytes = a_.kv_heads * kPageTokens * k.row_stride,
                       .head_dim = a_.head_dim,
                       .pages = table.row<int32_t>(table.shape[0] == 1 ? 0 : t)};
    kernels_.attend(keys, block, rows, at<float>(thread, queries_), at<int32_t>(thread, last_), at<float>(thread, pair_),
                    states);
  }

  void finish(int64_t t, int64_t head, State* whole) const {
    const Tensor& out = op_.outputs[attention::out];
    std::byte* to = out.row(t) + row_bytes(out.dtype, head * a_.head_dim);
    if (position(t) < 0) {
      std::memset(to, 0, static_cast<size_t>(row_bytes(out.dtype, a_.head_dim)));
    } else {
      kernels_.finish(whole, out.dtype, a_.head_dim, to);
    }
  }

  const OpView& op_;
  const AttentionAttrs& a_;
  const int64_t tokens_, group_;
  const bool prompt_;
  const int64_t item_tokens_, blocks_, state_bytes_;
  bool split_;
  int64_t pair_, queries_, last_, block_states_, whole_states_;
  int64_t thread_bytes_ = 0, shared_;
  std::byte* base_;
  const BlockKernels kernels_ = attention_cpu::block_kernels();
};

// Rows of the caches are read in pieces of 16 bytes.
bool supports(const OpView& op) {
  const Tensor &k = op.inputs[attention::k_cache], &v = op.inputs[attention::v_cache];
  return attention_cpu::block_kernels().attend != nullptr && k.is_contiguous() && v.is_contiguous() &&
         row_bytes(k.dtype, k.shape.last()) % 16 == 0;
}

// Calls body(thread, item) for every item, on whichever thread is free.
template <typename Body>
void share(ThreadPool& threads, int64_t items, const Body& body) {
  std::atomic<int64_t> next{0};
  threads.run([&](int thread) {
    for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;) body(thread, item);
  });
}

void launch(const OpView& op, Stream&) {
  if (op.inputs[attention::q].shape[0] == 0) return;
  ThreadPool& threads = cpu_threads();
  const Attention work(op, threads.size());
  if (work.split()) {
    threads.run([&](int thread) {
      const int64_t items = work.block_items(), end = items * (thread + 1) / threads.size();
      for (int64_t item = items * thread / threads.size(); item < end; ++item) work.run_block(thread, item);
    });
    const auto join = [&](int thread, int64_t row) { work.join(thread, row); };
    if (work.rows() < kWorthSharing) {
      for (int64_t row = 0; row < work.rows(); ++row) join(0, row);
    } else {
      share(threads, work.rows(), join);
    }
  } else {
    share(threads, work.items(), [&](int thread, int64_t item) { work.run(thread, item); });
  }
}

int64_t workspace(const OpView& op) { return Attention(op, cpu_threads().size()).bytes(); }

}  // namespace

Kernel attention_cpu_pages(OpKind kind) {
  return {.op = kind,
          .device = DeviceKind::cpu,
          .name = "02_pages",
          .step = 2,
          .supports = supports,
          .launch = launch,
          .workspace = workspace};
}

}  // namespace rafter
