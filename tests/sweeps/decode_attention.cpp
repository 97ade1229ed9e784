// attention_decode over batches and contexts, under every configuration, over caches that do not fit in L2.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rafter/kernels/attention/cuda/decode.h"
#include "rafter/kernels/attention/cuda/decode_config.h"
#include "rafter/ops/attention.h"
#include "rafter/ops/reference.h"
#include "rafter/ops/rope_kv.h"
#include "tests/sweeps/sweep.h"

namespace rafter::sweeps {

namespace {

constexpr int64_t kColdBytes = int64_t{256} << 20;

struct AttentionShape {
  std::string name;
  int64_t batch, q_heads, kv_heads, dim, keys;
  int64_t table_keys;  // what the block table has room for

  int64_t pages() const { return (keys + kPageTokens - 1) / kPageTokens; }
  int64_t row_bytes() const { return 2 * kv_heads * dim * 2; }  // of K and V, per key
  double bytes() const { return static_cast<double>(batch * keys * row_bytes()); }
};

std::vector<AttentionShape> shapes() {
  std::vector<AttentionShape> all;
  for (const int64_t keys : {512, 1024, 8192, 32768}) {
    all.push_back({fmt::format("attention 12/2 B=1 S={}", keys), 1, 12, 2, 128, keys, 32768});
    all.push_back({fmt::format("attention 32/8 B=1 S={}", keys), 1, 32, 8, 128, keys, 32768});
  }
  all.push_back({"attention 12/2 B=1 S=512 table 512", 1, 12, 2, 128, 512, 528});
  all.push_back({"attention 32/8 B=64 S=4096", 64, 32, 8, 128, 4096, 4096});
  all.push_back({"attention 12/2 B=64 S=4096", 64, 12, 2, 128, 4096, 4096});
  return all;
}

class Bench {
 public:
  Bench(const AttentionShape& shape, Stream& stream) : shape_(shape), stream_(stream) {
    const int64_t pages = shape.batch * shape.pages();
    copies_ = static_cast<int>(std::clamp<int64_t>(kColdBytes / static_cast<int64_t>(shape.bytes()) + 1, 2, 256));
    const Shape cache = {pages * copies_, shape.kv_heads, kPageTokens, shape.dim};
    k_ = random_tensor(DType::bf16, cache, 1, 2, stream);
    v_ = random_tensor(DType::bf16, cache, 2, 2, stream);
    q_ = random_tensor(DType::bf16, {shape.batch, shape.q_heads * shape.dim}, 3, 2, stream);
    out_ = random_tensor(DType::bf16, {shape.batch, shape.q_heads * shape.dim}, 4, 1, stream);
    positions_ = ints(std::vector<int32_t>(static_cast<size_t>(shape.batch), static_cast<int32_t>(shape.keys - 1)),
                      {shape.batch}, stream);
    width_ = std::max(shape.pages(), (shape.table_keys + kPageTokens - 1) / kPageTokens);
    for (int c = 0; c < copies_; ++c) {
      // Neighbouring pages of a sequence lie apart, as they do once a cache has been in use for a while.
      std::vector<int32_t> table(static_cast<size_t>(shape.batch * width_), -1);
      for (int64_t i = 0; i < pages; ++i) {
        const int64_t b = i % shape.batch, p = i / shape.batch;
        table[static_cast<size_t>(b * width_ + p)] = static_cast<int32_t>(i + c * pages);
      }
      tables_.push_back(ints(table, {shape.batch, width_}, stream));
    }
    op_.kind = OpKind::attention_decode;
    op_.name = shape.name;
    op_.attrs = AttentionAttrs{shape.q_heads, shape.kv_heads, shape.dim, 1 / std::sqrt(static_cast<double>(shape.dim))};
    truth_ = first_row_reference();
  }

  int copies() const { return copies_; }

  void launch(const Kernel& kernel, int copy) {
    bind(copy);
    OpView view{&op_, inputs_, outputs_, nullptr};
    const int64_t bytes = kernel.workspace(view);
    if (bytes > workspace_.bytes()) workspace_ = Buffer(device(stream_.device()), bytes);
    view.workspace = workspace_.data();
    kernel.launch(view, stream_);
  }

  void check(const Kernel& kernel, Row& row) {
    stream_.fill(out_.buffer.data(), 0xff, out_.buffer.bytes());
    launch(kernel, 0);
    row.error = relative_error(read_row(out_.tensor, 0, stream_), truth_);
    for (int64_t b = 0; b < shape_.batch; ++b) {
      for (const double v : read_row(out_.tensor, b, stream_)) {
        if (!std::isfinite(v)) row.fault = fmt::format("row {} holds {}", b, v);
      }
    }
    if (row.fault.empty() && !(row.error < 6e-3)) row.fault = fmt::format("relative error {:.2e}", row.error);
  }

 private:
  void bind(int copy) {
    inputs_ = {q_.tensor, k_.tensor, v_.tensor, tables_[static_cast<size_t>(copy)].tensor, positions_.tensor};
    outputs_ = {out_.tensor};
  }

  // The double reference of sequence 0 from its own pages, renumbered.
  std::vector<double> first_row_reference() {
    const int64_t page_bytes = shape_.kv_heads * kPageTokens * shape_.dim * 2, pages = shape_.pages();
    std::vector<std::byte> k(static_cast<size_t>(pages * page_bytes)), v(k.size());
    std::vector<std::byte> q(static_cast<size_t>(shape_.q_heads * shape_.dim * 2)), out(q.size());
    std::vector<int32_t> table;
    for (int64_t p = 0; p < pages; ++p) {
      const int64_t from = p * shape_.batch * page_bytes;
      stream_.copy_out(k.data() + p * page_bytes, static_cast<std::byte*>(k_.buffer.data()) + from, page_bytes);
      stream_.copy_out(v.data() + p * page_bytes, static_cast<std::byte*>(v_.buffer.data()) + from, page_bytes);
      table.push_back(static_cast<int32_t>(p));
    }
    stream_.copy_out(q.data(), q_.buffer.data(), static_cast<int64_t>(q.size()));
    stream_.synchronize();
    int32_t position = static_cast<int32_t>(shape_.keys - 1);
    const Shape cache = {pages, shape_.kv_heads, kPageTokens, shape_.dim}, row = {1, shape_.q_heads * shape_.dim};
    const std::vector<Tensor> in = {
        Tensor::contiguous(DType::bf16, row, q.data()), Tensor::contiguous(DType::bf16, cache, k.data()),
        Tensor::contiguous(DType::bf16, cache, v.data()), Tensor::contiguous(DType::i32, {1, pages}, table.data()),
        Tensor::contiguous(DType::i32, {1}, &position)};
    const std::vector<Tensor> to = {Tensor::contiguous(DType::bf16, row, out.data())};
    return reference({&op_, in, to, nullptr})[0];
  }

  const AttentionShape shape_;
  Stream& stream_;
  int copies_ = 1;
  int64_t width_ = 0;
  Filled k_, v_, q_, out_, positions_;
  std::vector<Filled> tables_;
  Buffer workspace_;
  Op op_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<double> truth_;
};

}  // namespace

void sweep_attention(Stream& stream, const Options& options, std::vector<Row>& rows) {
  Registry registry;
  register_attention_decode_cuda(registry);
  const auto ladder = registry.kernels(OpKind::attention_decode, DeviceKind::cuda);
  for (const AttentionShape& shape : shapes()) {
    if (shape.name.find(options.filter) == std::string::npos) continue;
    Bench bench(shape, stream);
    const size_t first = rows.size();
    const double least = shape.bytes() / 4e12 + 3e-6;
    const int count = static_cast<int>(std::clamp(1e-3 / least, 1.0, 128.0) / bench.copies() + 1) * bench.copies();
    const auto run = [&](const Kernel& kernel, const std::string& text) {
      Row row{.shape = shape.name, .kernel = std::string(kernel.name), .config = text, .bytes = shape.bytes(), .fault = {}};
      bench.check(kernel, row);
      time_both(
          stream, count, options.repeats, [&](int i) { bench.launch(kernel, i % bench.copies()); }, row);
      rows.push_back(row);
    };
    for (const Kernel* kernel : ladder) {
      attention::decode_override().reset();
      run(*kernel, "default");
      if (kernel->step == 10) continue;
      for (const int warps : {4, 8}) {
        for (const int pages : {1, 2, 4, 8}) {
          for (const int splits : {16, 32, 64, 128}) {
            for (const int blocks : {1, 2, 3}) {
              attention::decode_override() = attention::DecodeConfig{warps, pages, splits, blocks};
              run(*kernel, fmt::format("warps {} pages {} splits {} blocks/SM {}", warps, pages, splits, blocks));
            }
          }
        }
      }
    }
    attention::decode_override().reset();
    print_best(rows, first, 6);
  }
}

}  // namespace rafter::sweeps
