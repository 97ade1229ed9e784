// The decode matmuls of the 1.5B and the 8B model under every configuration, over copies of the weights that do not fit
// in L2.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "rafter/kernels/matmul/cuda/decode.h"
#include "rafter/kernels/matmul/cuda/decode_config.h"
#include "rafter/ops/matmul.h"
#include "tests/sweeps/sweep.h"

namespace rafter::sweeps {

namespace {

constexpr DType kType = DType::bf16;
constexpr int64_t kColdBytes = int64_t{256} << 20;
constexpr int64_t kSamples = 192;  // outputs compared with the double reference

struct MatmulShape {
  std::string name;
  std::vector<int64_t> parts;
  int64_t k;
  bool swiglu = false, norm = false, bias = false, residual = false;
  DType out = kType;

  int64_t n() const {
    int64_t total = 0;
    for (const int64_t part : parts) total += part;
    return total;
  }
  int64_t outputs() const { return swiglu ? n() / 2 : n(); }
  int64_t weight_bytes() const { return n() * k * 2; }
};

std::vector<MatmulShape> shapes() {
  return {
      {"1.5b qkv", {1536, 256, 256}, 1536, false, true, true},
      {"1.5b o", {1536}, 1536, false, false, false, true},
      {"1.5b gate_up", {8960, 8960}, 1536, true, true},
      {"1.5b down", {1536}, 8960, false, false, false, true},
      {"1.5b lm_head", {151936}, 1536, false, true, false, false, DType::f32},
      {"8b qkv", {4096, 1024, 1024}, 4096, false, true},
      {"8b o", {4096}, 4096, false, false, false, true},
      {"8b gate_up", {14336, 14336}, 4096, true, true},
      {"8b down", {4096}, 14336, false, false, false, true},
      {"8b lm_head", {128256}, 4096, false, true, false, false, DType::f32},
  };
}

// The operands of one shape, with enough copies of the weights.
class Bench {
 public:
  Bench(const MatmulShape& shape, Stream& stream) : shape_(shape), stream_(stream) {
    copies_ = static_cast<int>(std::clamp<int64_t>(kColdBytes / shape.weight_bytes() + 1, 2, 64));
    const auto magnitude = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.k)));
    for (int c = 0; c < copies_; ++c) {
      for (const int64_t part : shape.parts) {
        weights_.push_back(random_tensor(kType, {part, shape.k}, next_seed(), magnitude * 3, stream));
      }
    }
    x_ = random_tensor(kType, {decode::kMaxTokens, shape.k}, next_seed(), 1, stream);
    residual_ = random_tensor(shape.out, {decode::kMaxTokens, shape.outputs()}, next_seed(), 1, stream);
    norm_ = random_tensor(DType::f32, {shape.k}, next_seed(), 1, stream);
    bias_ = random_tensor(DType::f32, {shape.n()}, next_seed(), 1, stream);
    y_ = random_tensor(shape.out, {decode::kMaxTokens, shape.outputs()}, next_seed(), 1, stream);
    op_.kind = OpKind::matmul;
    op_.name = shape.name;
    op_.attrs = MatmulAttrs{shape.swiglu, 1e-5};
    stream.synchronize();
  }

  int copies() const { return copies_; }

  void set_tokens(int tokens) {
    tokens_ = tokens;
    truth_.clear();
    truth_ = reference();
  }

  void launch(const Kernel& kernel, int copy) {
    bind(copy);
    kernel.launch({&op_, inputs_, outputs_, nullptr}, stream_);
  }
  bool supported(const Kernel& kernel) {
    bind(0);
    return kernel.supports({&op_, inputs_, outputs_, nullptr});
  }

  // Poisons y, runs, and compares samples with the double reference; all of y must have been written.
  void check(const Kernel& kernel, Row& row) {
    stream_.fill(y_.buffer.data(), 0xff, y_.buffer.bytes());
    launch(kernel, 0);
    std::vector<double> samples;
    for (int t = 0; t < tokens_; ++t) {
      const std::vector<double> y = read_row(y_.tensor, t, stream_);
      for (size_t o = 0; o < y.size(); ++o) {
        if (!std::isfinite(y[o])) row.fault = fmt::format("y[{}, {}] is {}", t, o, y[o]);
      }
      for (const int64_t o : sampled()) samples.push_back(y[static_cast<size_t>(o)]);
    }
    row.error = relative_error(samples, truth_);
    if (row.fault.empty() && !(row.error < 6e-3)) row.fault = fmt::format("relative error {:.2e}", row.error);
  }

 private:
  static uint64_t next_seed() {
    static uint64_t seed = 1;
    return seed++;
  }

  void bind(int copy) {
    inputs_ = {rows(x_.tensor), shape_.bias ? bias_.tensor : Tensor{}, shape_.residual ? rows(residual_.tensor) : Tensor{},
               shape_.norm ? norm_.tensor : Tensor{}};
    for (size_t p = 0; p < shape_.parts.size(); ++p) {
      inputs_.push_back(weights_[static_cast<size_t>(copy) * shape_.parts.size() + p].tensor);
    }
    outputs_ = {rows(y_.tensor)};
  }
  Tensor rows(const Tensor& whole) const {
    return Tensor::contiguous(whole.dtype, {tokens_, whole.shape.last()}, whole.data, whole.device);
  }

  std::vector<int64_t> sampled() const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < kSamples; ++i) all.push_back((shape_.outputs() - 1) * i / (kSamples - 1));
    return all;
  }

  std::vector<double> weight_row(int64_t n) {
    size_t part = 0;
    while (n >= shape_.parts[part]) n -= shape_.parts[part++];
    return read_row(weights_[part].tensor, n, stream_);
  }

  std::vector<double> reference() {
    const std::vector<double> norm = read_row(norm_.tensor, 0, stream_), bias = read_row(bias_.tensor, 0, stream_);
    std::vector<std::vector<double>> x, residual;
    for (int t = 0; t < tokens_; ++t) {
      x.push_back(read_row(x_.tensor, t, stream_));
      residual.push_back(read_row(residual_.tensor, t, stream_));
      if (!shape_.norm) continue;
      double squares = 0;
      for (const double v : x.back()) squares += v * v;
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(shape_.k) + 1e-5);
      for (size_t i = 0; i < norm.size(); ++i) x.back()[i] *= inverse * norm[i];
    }
    const auto samples = sampled();
    std::vector<double> truth(samples.size() * static_cast<size_t>(tokens_));
    for (size_t s = 0; s < samples.size(); ++s) {
      const auto gate = weight_row(samples[s]);
      const auto up = shape_.swiglu ? weight_row(samples[s] + shape_.outputs()) : gate;
      for (int t = 0; t < tokens_; ++t) {
        const auto& in = x[static_cast<size_t>(t)];
        double z = 0, z_up = 0;
        for (size_t i = 0; i < in.size(); ++i) z += gate[i] * in[i], z_up += up[i] * in[i];
        if (shape_.bias) z += bias[static_cast<size_t>(samples[s])];
        if (shape_.swiglu) z = z / (1 + std::exp(-z)) * z_up;
        if (shape_.residual) z += residual[static_cast<size_t>(t)][static_cast<size_t>(samples[s])];
        truth[static_cast<size_t>(t) * samples.size() + s] = z;
      }
    }
    return truth;
  }

  const MatmulShape shape_;
  Stream& stream_;
  int copies_ = 1, tokens_ = 1;
  std::vector<Filled> weights_;
  Filled x_, residual_, norm_, bias_, y_;
  Op op_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<double> truth_;
};

struct Config {
  std::string kernel, text;
  std::function<void()> apply;
};

std::vector<Config> configs(const MatmulShape& shape, int tokens) {
  using namespace decode;
  std::vector<Config> all;
  for (const char* kernel : {"10_decode_rows", "11_decode_ring", "12_decode_mma"}) all.push_back({kernel, "default", [] {}});
  for (const RowsShape& s : kRowsShapes) {
    if (tokens > 1 && s.unroll * 10 + s.rows != kRowsShapes[0].unroll * 10 + kRowsShapes[0].rows) continue;
    for (const int group : {1, 2, 4, 8}) {
      for (const int blocks : {2, 4, 8}) {
        const RowsConfig c{s.rows, s.unroll, 8, group, blocks};
        all.push_back({"10_decode_rows",
                       fmt::format("rows {} unroll {} group {} blocks/SM {}", s.rows, s.unroll, group, blocks),
                       [c] { overrides().rows = [c](const Problem&) { return c; }; }});
      }
    }
  }
  const int64_t warp_steps = (shape.k + 255) / 256;
  std::vector<int> warps;
  for (int64_t passes = 1; passes <= 16; ++passes) {
    const auto w = static_cast<int>((warp_steps + passes - 1) / passes);
    if (w <= 14 && w >= 4 && (warps.empty() || warps.back() != w)) warps.push_back(w);
  }
  for (const int rows : kRingRows) {
    for (const int w : warps) {
      for (const auto& [blocks, kilobytes] : {std::pair{1, 72}, {1, 110}, {1, 160}, {1, 210}, {2, 72}, {2, 110}}) {
        const RingConfig c{rows, w, blocks, kilobytes * 1024};
        all.push_back({"11_decode_ring", fmt::format("rows {} warps {} blocks/SM {} block {} KiB", rows, w, blocks, kilobytes),
                       [c] { overrides().ring = [c](const Problem&) { return c; }; }});
      }
    }
  }
  for (const int unroll : kMmaUnrolls) {
    for (const int group : {1, 2, 4, 8}) {
      for (const int blocks : {1, 2, 4}) {
        const MmaConfig c{unroll, 8, group, blocks};
        all.push_back({"12_decode_mma", fmt::format("unroll {} group {} blocks/SM {}", unroll, group, blocks),
                       [c] { overrides().mma = [c](const Problem&) { return c; }; }});
      }
    }
  }
  return all;
}

}  // namespace

void sweep_matmul(Stream& stream, const Options& options, std::vector<Row>& rows) {
  Registry registry;
  register_matmul_decode_cuda(registry);
  const auto ladder = registry.kernels(OpKind::matmul, DeviceKind::cuda);
  for (const MatmulShape& shape : shapes()) {
    if (shape.name.find(options.filter) == std::string::npos) continue;
    Bench bench(shape, stream);
    for (const int tokens : options.tokens) {
      bench.set_tokens(tokens);
      const size_t first = rows.size();
      const double least = static_cast<double>(shape.weight_bytes()) / 4e12;
      const int count = static_cast<int>(std::clamp(1e-3 / least, 1.0, 128.0) / bench.copies() + 1) * bench.copies();
      for (const Config& config : configs(shape, tokens)) {
        const auto kernel =
            std::find_if(ladder.begin(), ladder.end(), [&](const Kernel* k) { return k->name == config.kernel; });
        if (!bench.supported(**kernel)) continue;
        decode::overrides() = {};
        config.apply();
        Row row{.shape = shape.name,
                .kernel = config.kernel,
                .config = config.text,
                .tokens = tokens,
                .bytes = static_cast<double>(shape.weight_bytes()),
                .fault = {}};
        bench.check(**kernel, row);
        time_both(
            stream, count, options.repeats, [&](int i) { bench.launch(**kernel, i % bench.copies()); }, row);
        rows.push_back(row);
      }
      decode::overrides() = {};
      print_best(rows, first, 4);
    }
  }
}

}  // namespace rafter::sweeps
