// Random operands of tensor-core products, made on the host, and what a product of them came to.
//
// Inputs move power and with it the clock: zeros run faster than anything a model holds. Values are standard normal, rounded
// to the format; int8 holds them times 32. With each A comes its negative, so that a probe that adds A B and -A B in turn
// keeps its sums as small as a real product's, whatever they are kept in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rafter/device/buffer.h"
#include "rafter/device/device.h"

namespace rafter::cuda {

enum class Format : uint8_t { f16, bf16, tf32, fp8, int8, fp64 };
constexpr int bytes_of(Format format) {
  constexpr int kBytes[] = {2, 2, 4, 1, 1, 8};
  return kBytes[static_cast<int>(format)];
}

// A matrix of the format, row-major, packed.
struct Operand {
  int rows = 0, depth = 0;
  std::vector<double> values;  // exactly those that the words hold
  std::vector<uint32_t> words;
};

Operand random_operand(Format format, int rows, int depth, uint64_t seed);
// The rows, and below them their negatives.
Operand with_negative(Format format, const Operand& operand);
Buffer upload(Device& device, Stream& stream, const Operand& operand);

// D = A B^T as a probe's own kernel computed it, for tests to check against their own. All row-major.
struct TileProduct {
  std::string name;  // of the roof
  int m = 0, n = 0, k = 0;
  std::vector<double> a, b, d;  // m x k, n x k, m x n
  double tolerance = 0;         // ||error|| / ||D|| that the format's sums allow
};

// One product of every kind of instruction that this GPU has; none of wgmma but on Hopper.
std::vector<TileProduct> mma_products(Device& device);
std::vector<TileProduct> wgmma_products(Device& device);

}  // namespace rafter::cuda
