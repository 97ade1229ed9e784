// A whole decode step at batch 1 but for its two ends, embed and argmax: what the kernels cost one after the other, with
// every layer's own weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "rafter/kernels/all.h"
#include "rafter/kernels/attention/cuda/decode_config.h"
#include "rafter/kernels/matmul/cuda/decode_config.h"
#include "rafter/ops/attention.h"
#include "rafter/ops/matmul.h"
#include "rafter/ops/rope_kv.h"
#include "tests/sweeps/sweep.h"

namespace rafter::sweeps {

namespace {

constexpr DType kType = DType::bf16;

struct Model {
  std::string name;
  int64_t layers, hidden, ffn, q_heads, kv_heads, dim, vocab;
  int64_t q_width() const { return q_heads * dim; }
  int64_t kv_width() const { return kv_heads * dim; }
};

class Step {
 public:
  Step(const Model& model, int64_t keys, Stream& stream) : model_(model), keys_(keys), stream_(stream) {
    const int64_t hidden = model.hidden;
    x_ = tensor(kType, {1, hidden});
    const Tensor qkv = tensor(kType, {1, model.q_width() + 2 * model.kv_width()}), q = tensor(kType, {1, model.q_width()});
    const Tensor attended = tensor(kType, {1, model.q_width()}), gated = tensor(kType, {1, model.ffn});
    const Tensor norm = tensor(DType::f32, {hidden}), bias = tensor(DType::f32, {qkv.shape.last()});
    const Tensor frequencies = tensor(DType::f32, {model.dim / 2});
    const int64_t pages = (keys + kPageTokens) / kPageTokens, width = 32768 / kPageTokens;
    std::vector<int32_t> table(static_cast<size_t>(width), -1);
    for (int64_t i = 0; i < pages; ++i) table[static_cast<size_t>(i)] = static_cast<int32_t>(i);
    kept_.push_back(ints(table, {1, width}, stream));
    const Tensor table_tensor = kept_.back().tensor;
    kept_.push_back(ints({static_cast<int32_t>(keys - 1)}, {1}, stream));
    const Tensor positions = kept_.back().tensor;
    for (int64_t layer = 0; layer < model.layers; ++layer) {
      const Tensor k = tensor(kType, {pages, model.kv_heads, kPageTokens, model.dim}), v = tensor(kType, k.shape);
      add(OpKind::matmul, MatmulAttrs{},
          {x_,
           bias,
           {},
           norm,
           weight(model.q_width(), hidden),
           weight(model.kv_width(), hidden),
           weight(model.kv_width(), hidden)},
          {qkv});
      add(OpKind::rope_kv, RopeKvAttrs{model.q_heads, model.kv_heads, model.dim, false, 1e-6},
          {qkv, positions, table_tensor, frequencies, {}, {}}, {q, k, v});
      add(OpKind::attention_decode,
          AttentionAttrs{model.q_heads, model.kv_heads, model.dim, 1 / std::sqrt(static_cast<double>(model.dim))},
          {q, k, v, table_tensor, positions}, {attended});
      add(OpKind::matmul, MatmulAttrs{}, {attended, {}, x_, {}, weight(hidden, model.q_width())}, {x_});
      add(OpKind::matmul, MatmulAttrs{true, 1e-5}, {x_, {}, {}, norm, weight(model.ffn, hidden), weight(model.ffn, hidden)},
          {gated});
      add(OpKind::matmul, MatmulAttrs{}, {gated, {}, x_, {}, weight(hidden, model.ffn)}, {x_});
    }
    add(OpKind::matmul, MatmulAttrs{}, {x_, {}, {}, norm, weight(model.vocab, hidden)}, {tensor(DType::f32, {1, model.vocab})});
    stream.synchronize();
  }

  // The kernels as they are picked now; the named matmul step in the place of the pick where it is not empty.
  void choose(const std::string& matmul) {
    for (Part& part : parts_) {
      const OpView view{&part.op, part.inputs, part.outputs, nullptr};
      part.kernel = &registry().pick(view, DeviceKind::cuda);
      for (const Kernel* kernel : registry().kernels(part.op.kind, DeviceKind::cuda)) {
        if (part.op.kind == OpKind::matmul && kernel->name == matmul && kernel->supports(view)) part.kernel = kernel;
      }
      const int64_t bytes = part.kernel->workspace != nullptr ? part.kernel->workspace(view) : 0;
      if (bytes > workspace_.bytes()) workspace_ = Buffer(device(stream_.device()), bytes);
    }
  }

  void enqueue() {
    for (const Part& part : parts_) part.kernel->launch({&part.op, part.inputs, part.outputs, workspace_.data()}, stream_);
  }

  double weight_bytes() const { return weight_bytes_; }

 private:
  struct Part {
    Op op;
    std::vector<Tensor> inputs, outputs;
    const Kernel* kernel = nullptr;
  };

  Tensor tensor(DType dtype, const Shape& shape) {
    kept_.push_back(random_tensor(dtype, shape, ++seed_, 1, stream_));
    return kept_.back().tensor;
  }
  Tensor weight(int64_t n, int64_t k) {
    kept_.push_back(random_tensor(kType, {n, k}, ++seed_, static_cast<float>(1 / std::sqrt(static_cast<double>(k))), stream_));
    weight_bytes_ += static_cast<double>(kept_.back().tensor.bytes());
    return kept_.back().tensor;
  }
  void add(OpKind kind, const Attrs& attrs, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    Part part{.op = {}, .inputs = std::move(inputs), .outputs = std::move(outputs)};
    part.op.kind = kind;
    part.op.attrs = attrs;
    part.op.name = "chain";
    parts_.push_back(std::move(part));
  }

  const Model model_;
  const int64_t keys_;
  Stream& stream_;
  uint64_t seed_ = 0;
  double weight_bytes_ = 0;
  Tensor x_;
  std::vector<Filled> kept_;
  std::vector<Part> parts_;
  Buffer workspace_;
};

struct Setting {
  std::string text, matmul;
  int block_kilobytes = 0;                        // of the ring; 0 for its own choice
  std::optional<attention::DecodeConfig> splits;  // of attention
};

std::vector<Setting> settings() {
  std::vector<Setting> all = {{"default", "", 0, {}}, {"default rows", "10_decode_rows", 0, {}}};
  for (const int kilobytes : {56, 72, 88, 100, 110, 140, 170, 210}) {
    all.push_back({fmt::format("ring of {} KiB", kilobytes), "11_decode_ring", kilobytes, {}});
  }
  for (const int warps : {4, 8}) {
    for (const int pages : {1, 2, 4, 8}) {
      all.push_back(
          {fmt::format("attention of {} warps, {} pages", warps, pages), "", 0, attention::DecodeConfig{warps, pages, 64, 1}});
    }
  }
  return all;
}

}  // namespace

void sweep_chain(Stream& stream, const Options& options, std::vector<Row>& rows) {
  const Model models[] = {{"chain 1.5b S=512", 28, 1536, 8960, 12, 2, 128, 151936},
                          {"chain 8b S=512", 32, 4096, 14336, 32, 8, 128, 128256}};
  for (const Model& model : models) {
    if (model.name.find(options.filter) == std::string::npos) continue;
    Step step(model, 512, stream);
    const size_t first = rows.size();
    for (const Setting& setting : settings()) {
      if (setting.block_kilobytes != 0) {
        decode::overrides().ring = [bytes = setting.block_kilobytes * 1024](const decode::Problem& p) {
          decode::RingConfig config = decode::ring_choice(p);
          config.block_bytes = bytes;
          return config;
        };
      }
      attention::decode_override() = setting.splits;
      step.choose(setting.matmul);
      step.enqueue();
      stream.synchronize();
      Row row{.shape = model.name, .kernel = "step", .config = setting.text, .bytes = step.weight_bytes(), .fault = {}};
      time_both(
          stream, 1, options.repeats, [&](int) { step.enqueue(); }, row);
      rows.push_back(row);
      decode::overrides() = {};
      attention::decode_override().reset();
    }
    print_best(rows, first, 100);
  }
}

}  // namespace rafter::sweeps
