#include "rafter/machine/cuda/operands.h"

#include <cuda_fp8.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "rafter/base/half.h"
#include "rafter/base/random.h"

namespace rafter::cuda {

namespace {

// The nearest value of the format, in its low bytes.
uint64_t encode(Format format, double value) {
  const auto number = static_cast<float>(value);
  switch (format) {
    case Format::f16:
      return float_to_f16(number);
    case Format::bf16:
      return float_to_bf16(number);
    case Format::tf32: {  // a float with ten bits of mantissa; the hardware would cut the others off
      const auto bits = std::bit_cast<uint32_t>(number);
      return (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
    }
    case Format::fp8:
      return __nv_cvt_float_to_fp8(number, __NV_SATFINITE, __NV_E4M3);
    case Format::int8:
      return static_cast<uint8_t>(static_cast<int8_t>(std::clamp(std::round(value), -127.0, 127.0)));
    case Format::fp64:
      return std::bit_cast<uint64_t>(value);
  }
  return 0;
}

double decode(Format format, uint64_t bits) {
  switch (format) {
    case Format::f16:
      return f16_to_float(static_cast<uint16_t>(bits));
    case Format::bf16:
      return bf16_to_float(static_cast<uint16_t>(bits));
    case Format::tf32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Format::fp8:
      return f16_to_float(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), __NV_E4M3).x);
    case Format::int8:
      return static_cast<int8_t>(bits);
    case Format::fp64:
      return std::bit_cast<double>(bits);
  }
  return 0;
}

Operand packed(Format format, int rows, int depth, const std::vector<double>& values) {
  const auto each = static_cast<size_t>(bytes_of(format));
  Operand operand{rows, depth, {}, std::vector<uint32_t>(values.size() * each / sizeof(uint32_t))};
  auto* to = reinterpret_cast<unsigned char*>(operand.words.data());
  for (const double value : values) {
    const uint64_t bits = encode(format, value);
    std::memcpy(to, &bits, each);  // the low bytes: little-endian, as every machine with such a GPU
    to += each;
    operand.values.push_back(decode(format, bits));
  }
  return operand;
}

}  // namespace

Operand random_operand(Format format, int rows, int depth, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<size_t>(rows) * static_cast<size_t>(depth));
  for (double& value : values) value = random.normal() * (format == Format::int8 ? 32.0 : 1.0);
  return packed(format, rows, depth, values);
}

Operand with_negative(Format format, const Operand& operand) {
  std::vector<double> values = operand.values;
  for (const double value : operand.values) values.push_back(-value);
  return packed(format, 2 * operand.rows, operand.depth, values);
}

Buffer upload(Device& device, Stream& stream, const Operand& operand) {
  const auto bytes = static_cast<int64_t>(operand.words.size() * sizeof(uint32_t));
  Buffer buffer(device, bytes);
  stream.copy_in(buffer.data(), operand.words.data(), bytes);
  stream.synchronize();
  return buffer;
}

}  // namespace rafter::cuda
