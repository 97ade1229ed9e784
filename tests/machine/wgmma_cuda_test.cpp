// The probes of the tensor cores compute real products: what one block of each leaves in its sums is checked against a
// product in double precision. A wrong descriptor, swizzle or fragment would rate something else than it claims.
#include <gtest/gtest.h>

#include "rafter/device/device.h"

#if RAFTER_WITH_CUDA
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "rafter/machine/cuda/operands.h"

namespace rafter::cuda {
namespace {

// ||d - a b^T|| / ||a b^T||; NaN, which no bound holds, where an element was not written.
double relative_error(const TileProduct& product) {
  double error = 0, norm = 0;
  for (int row = 0; row < product.m; ++row) {
    for (int column = 0; column < product.n; ++column) {
      double exact = 0;
      for (int i = 0; i < product.k; ++i) {
        exact += product.a[static_cast<size_t>(row * product.k + i)] * product.b[static_cast<size_t>(column * product.k + i)];
      }
      const double got = product.d[static_cast<size_t>(row * product.n + column)];
      error += (got - exact) * (got - exact);
      norm += exact * exact;
    }
  }
  return std::sqrt(error / norm);
}

void expect_products(const std::vector<TileProduct>& products) {
  for (const TileProduct& product : products) {
    const double error = relative_error(product);
    EXPECT_TRUE(error <= product.tolerance)
        << product.name << ": relative error " << error << ", at most " << product.tolerance;
  }
}

std::set<std::string> names(const std::vector<TileProduct>& products) {
  std::set<std::string> all;
  for (const TileProduct& product : products) all.insert(product.name);
  return all;
}

class TensorCores : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().devices == 0) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
    device_ = &device({DeviceKind::cuda, 0});
  }
  Device* device_ = nullptr;
};

TEST_F(TensorCores, MmaProductsAreRight) {
  if (device_->info().compute_major < 8) GTEST_SKIP() << "the probes' mma.sync needs compute capability 8.0";
  const auto products = mma_products(*device_);
  EXPECT_TRUE(names(products).contains("math.bf16.mma"));
  EXPECT_TRUE(names(products).contains("math.int8.mma"));
  expect_products(products);
}

TEST_F(TensorCores, WgmmaProductsAreRight) {
  const DeviceInfo info = device_->info();
  if (info.compute_major != 9) GTEST_SKIP() << "wgmma needs a Hopper GPU; this is a " << info.name;
  const auto products = wgmma_products(*device_);
  if (products.empty()) GTEST_SKIP() << "built for sm_90, not for sm_90a, which has wgmma";
  EXPECT_EQ(products.size(), 6u);
  expect_products(products);
}

// The operands themselves, which the products are checked against.
TEST(Operands, HoldWhatTheirWordsSay) {
  const Operand operand = random_operand(Format::bf16, 3, 4, 5);
  ASSERT_EQ(operand.values.size(), 12u);
  ASSERT_EQ(operand.words.size(), 6u);
  const auto high = static_cast<float>(operand.values[1]);  // the second of a pair is the high half
  uint32_t bits = 0;
  std::memcpy(&bits, &high, sizeof(bits));
  EXPECT_EQ(operand.words[0] & 0xffff0000u, bits);
}

TEST(Operands, AreNormalAndComeWithTheirNegatives) {
  for (const Format format : {Format::f16, Format::bf16, Format::tf32, Format::fp8, Format::int8, Format::fp64}) {
    const Operand operand = random_operand(format, 64, 64, 7);
    double sum = 0, squares = 0;
    for (const double value : operand.values) sum += value, squares += value * value;
    const double count = 64 * 64, scale = format == Format::int8 ? 32 : 1;
    EXPECT_LT(std::abs(sum / count), 0.1 * scale) << static_cast<int>(format);
    EXPECT_NEAR(std::sqrt(squares / count), scale, 0.05 * scale) << static_cast<int>(format);
    const Operand both = with_negative(format, operand);
    ASSERT_EQ(both.rows, 128);
    for (size_t i = 0; i < operand.values.size(); ++i) {
      ASSERT_EQ(both.values[i], operand.values[i]);
      ASSERT_EQ(both.values[i + operand.values.size()], -operand.values[i]);
    }
  }
}

}  // namespace
}  // namespace rafter::cuda
#else
TEST(TensorCores, NeedCuda) { GTEST_SKIP() << rafter::cuda_status().reason; }
#endif
