#include "tests/support/op_check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#include "rafter/base/half.h"
#include "rafter/base/random.h"
#include "rafter/device/buffer.h"
#include "rafter/kernels/all.h"
#include "rafter/ops/block_formats.h"
#include "rafter/ops/reference.h"

namespace rafter::testing {

namespace {

constexpr int64_t kGuard = 512;
constexpr std::byte kGuardByte{0x7e};  // NaN-like in no dtype, so a kernel that reads it does not fault but shows

// One operand in host memory with guards around it, and its copy on the device.
struct Placed {
  std::vector<std::byte> host;
  Buffer device;
  Tensor host_tensor, device_tensor;
};

uint16_t f16_between(Random& random, float low, float high) { return float_to_f16(random.uniform(low, high)); }

// Scales at fixed offsets of each block are made sane; everything else is random bits.
void fill_blocks(DType dtype, std::byte* row, int64_t elements, Random& random) {
  const DTypeInfo& type = info(dtype);
  for (int64_t block = 0; block < elements / type.block_elements; ++block) {
    auto* bytes = reinterpret_cast<uint8_t*>(row + block * type.block_bytes);
    for (int i = 0; i < type.block_bytes; ++i) bytes[i] = static_cast<uint8_t>(random.next());
    const auto put = [&](size_t offset, float low, float high) {
      const uint16_t bits = f16_between(random, low, high);
      std::memcpy(bytes + offset, &bits, 2);
    };
    switch (dtype) {
      case DType::q4_1:
      case DType::q5_1:
        put(0, 0.01f, 0.1f);
        put(2, -0.5f, 0.1f);
        break;
      case DType::q4_k:
      case DType::q5_k:
        put(0, 0.001f, 0.003f);
        put(2, 0.001f, 0.003f);
        break;
      case DType::q6_k:
        put(offsetof(BlockQ6_K, d), -0.0005f, 0.0005f);
        break;
      default:
        put(0, -0.1f, 0.1f);
        break;
    }
  }
}

float random_value(const Operand& operand, int64_t column, Random& random) {
  switch (operand.fill) {
    case Fill::positive:
      return static_cast<float>(operand.scale) * random.uniform(0.5f, 1.5f);
    case Fill::lossless: {
      const auto code = static_cast<int>(random.below(255)) - 127;
      return static_cast<float>(column % 32 == 5 ? 127 : code) * 0x1p-6f;
    }
    default:
      return static_cast<float>(operand.scale) * random.normal();
  }
}

void put_value(DType dtype, std::byte* row, int64_t column, double value) {
  const auto store = [&](auto stored) {
    std::memcpy(row + column * static_cast<int64_t>(sizeof stored), &stored, sizeof stored);
  };
  switch (dtype) {
    case DType::f32:
      return store(static_cast<float>(value));
    case DType::f16:
      return store(float_to_f16(static_cast<float>(value)));
    case DType::bf16:
      return store(float_to_bf16(static_cast<float>(value)));
    case DType::i32:
      return store(std::isnan(value) ? int32_t{-77777} : static_cast<int32_t>(value));
    default:
      FAIL() << "a given value of a block format";
  }
}

void fill(const Operand& operand, const Tensor& tensor, Random& random) {
  const int64_t width = operand.shape.last();
  for (int64_t r = 0; r < operand.shape.rows(); ++r) {
    auto* row = tensor.row(r);
    if (is_quantised(operand.dtype)) {
      fill_blocks(operand.dtype, row, width, random);
      continue;
    }
    for (int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<size_t>(r * width + i);
      const double value = operand.fill == Fill::poison  ? std::nan("")
                           : operand.fill == Fill::given ? operand.values.at(at)
                                                         : random_value(operand, i, random);
      put_value(operand.dtype, row, i, value);
    }
  }
}

Placed place(const Operand& operand, DeviceId id, Random& random) {
  Placed placed;
  if (operand.shape.rank() == 0) return placed;
  const int64_t stride = row_bytes(operand.dtype, operand.shape.last()) + operand.slack_bytes;
  const int64_t body = operand.shape.rows() * stride, total = body + 2 * kGuard + operand.misalign;
  // The host copy starts on a 256-byte boundary too, so that both sides see the same misalignment.
  placed.host.assign(static_cast<size_t>(total) + 256, kGuardByte);
  auto* base = placed.host.data() + (256 - reinterpret_cast<uintptr_t>(placed.host.data()) % 256) % 256;
  placed.host_tensor = {operand.dtype, operand.shape, stride, base + kGuard + operand.misalign, {}};
  fill(operand, placed.host_tensor, random);
  placed.device = Buffer(device(id), total);
  auto* start = static_cast<std::byte*>(placed.device.data());
  placed.device_tensor = {operand.dtype, operand.shape, stride, start + kGuard + operand.misalign, id};
  auto stream = device(id).make_stream();
  stream->copy_in(start, base, total);
  stream->synchronize();
  return placed;
}

// Reads a device operand back; says so when a guard or the slack between rows was touched.
std::string read_back(const Operand& operand, const Placed& placed, Stream& stream, std::vector<std::byte>& body) {
  if (operand.shape.rank() == 0) return {};
  const Tensor& tensor = placed.device_tensor;
  const int64_t used = operand.shape.rows() * tensor.row_stride, total = used + 2 * kGuard + operand.misalign;
  std::vector<std::byte> all(static_cast<size_t>(total));
  stream.copy_out(all.data(), placed.device.data(), total);
  stream.synchronize();
  const int64_t width = row_bytes(operand.dtype, operand.shape.last()), start = kGuard + operand.misalign;
  for (int64_t i = 0; i < total; ++i) {
    const int64_t inside = i - start;
    const bool data = inside >= 0 && inside < used && inside % tensor.row_stride < width;
    if (data) {
      body.push_back(all[static_cast<size_t>(i)]);
    } else if (all[static_cast<size_t>(i)] != kGuardByte) {
      return fmt::format("byte {} of an operand of {} bytes was written: out of bounds", inside, used);
    }
  }
  return {};
}

double tolerance(const OpCase& test, const Kernel& kernel, size_t output) {
  double tolerance = 2e-6;
  const auto widen = [&](DType type) {
    if (type == DType::bf16) tolerance = std::max(tolerance, 6e-3);
    if (type == DType::f16) tolerance = std::max(tolerance, 8e-4);
  };
  widen(test.outputs[output].dtype);
  // Kernels may round intermediates (the probabilities of attention, a normed row) to the activations' dtype.
  for (const Operand& input : test.inputs) widen(input.dtype == test.inputs[0].dtype ? input.dtype : DType::f32);
  if (kernel.op == OpKind::matmul) {
    // A sum of K products taken in order in f32 strays with the root of its length.
    tolerance = std::max(tolerance, 4e-8 * std::sqrt(static_cast<double>(test.inputs[0].shape[1])));
    for (size_t i = 4; i < test.inputs.size(); ++i) {
      // int8 activations that are not lossless (a norm comes before them) carry the error of 7 bits.
      const bool lossless = test.inputs[0].fill == Fill::lossless && test.inputs[3].shape.rank() == 0;
      if (is_quantised(test.inputs[i].dtype) && !lossless) tolerance = std::max(tolerance, 1.5e-2);
    }
  }
  return tolerance * test.tolerance_factor;
}

std::string compare(const Doubles& out, const Doubles& truth, double tolerance) {
  double error = 0, size = 0, largest = 0, worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (std::isnan(truth[i]) && std::isnan(out[i])) continue;
    if (!std::isfinite(out[i]) && out[i] != truth[i]) return fmt::format("element {} is {}, should be {}", i, out[i], truth[i]);
    if (!std::isfinite(truth[i])) continue;
    const double d = std::fabs(out[i] - truth[i]);
    if (d > worst) worst = d, where = i;
    error += d * d;
    size += truth[i] * truth[i];
    largest = std::max(largest, std::fabs(truth[i]));
  }
  const double relative = std::sqrt(error) / std::max(std::sqrt(size), 1e-30);
  if (relative > tolerance) return fmt::format("relative error {:.3g} over {:.3g}", relative, tolerance);
  if (worst > 8 * tolerance * largest + 1e-30) {
    return fmt::format("element {} is {}, should be {}: {:.3g} of the largest", where, out[where], truth[where],
                       worst / largest);
  }
  return {};
}

}  // namespace

Outcome run_case(const Kernel& kernel, const OpCase& test, DeviceId id, uint64_t seed) {
  Outcome outcome;
  Random random(seed);
  std::vector<Placed> inputs, outputs;
  std::vector<Tensor> host_in, host_out, device_in, device_out;
  for (const Operand& operand : test.inputs) {
    inputs.push_back(place(operand, id, random));
    host_in.push_back(inputs.back().host_tensor);
    device_in.push_back(inputs.back().device_tensor);
  }
  for (const Operand& operand : test.outputs) {
    outputs.push_back(place(operand, id, random));
    host_out.push_back(outputs.back().host_tensor);
    device_out.push_back(outputs.back().device_tensor);
  }
  OpView view{&test.op, device_in, device_out, nullptr};
  outcome.supported = kernel.supports(view);
  if (!outcome.supported) return outcome;
  auto stream = device(id).make_stream();
  Buffer workspace(device(id), kernel.workspace != nullptr ? kernel.workspace(view) : 0);
  stream->fill(workspace.data(), 0xff, workspace.bytes());  // its content is undefined: NaN shows who relies on it
  view.workspace = workspace.data();
  kernel.launch(view, *stream);
  stream->synchronize();

  const std::vector<Doubles> truth = reference({&test.op, host_in, host_out, nullptr});
  for (size_t i = 0; i < outputs.size(); ++i) {
    outcome.outputs.emplace_back();
    outcome.fault = read_back(test.outputs[i], outputs[i], *stream, outcome.outputs.back());
    if (!outcome.fault.empty()) return outcome;
    const Tensor result = Tensor::contiguous(test.outputs[i].dtype, test.outputs[i].shape, outcome.outputs.back().data());
    outcome.fault = compare(to_doubles(result), truth[i], tolerance(test, kernel, i));
    if (!outcome.fault.empty()) {
      outcome.fault = fmt::format("output {}: {}", i, outcome.fault);
      return outcome;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<std::byte> body;
    outcome.fault = read_back(test.inputs[i], inputs[i], *stream, body);
    if (!outcome.fault.empty()) return outcome;
  }
  return outcome;
}

void check_kernel(const Kernel& kernel) {
  if (kernel.device == DeviceKind::cuda && cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  const bool lowest = registry().kernels(kernel.op, kernel.device).front() == &kernel;
  for (const OpCase& test : cases(kernel.op)) {
    const Outcome outcome = run_case(kernel, test, {kernel.device, 0}, 17);
    if (lowest) {
      EXPECT_TRUE(outcome.supported) << kernel.name << " refuses " << test.name;
    }
    EXPECT_EQ(outcome.fault, "") << name(kernel.op) << ' ' << kernel.name << ", case " << test.name;
  }
}

void check_all_kernels(OpKind kind, DeviceKind where) {
  const auto ladder = registry().kernels(kind, where);
  ASSERT_FALSE(ladder.empty()) << "no kernel of " << name(kind);
  for (const Kernel* kernel : ladder) check_kernel(*kernel);
}

}  // namespace rafter::testing
