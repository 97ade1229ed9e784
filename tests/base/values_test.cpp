// dtypes, shapes, units and random numbers.
#include <gtest/gtest.h>

#include <set>

#include "rafter/base/dtype.h"
#include "rafter/base/error.h"
#include "rafter/base/random.h"
#include "rafter/base/shape.h"
#include "rafter/base/units.h"

namespace rafter {
namespace {

TEST(DType, RowsAreWholeBlocks) {
  EXPECT_EQ(row_bytes(DType::bf16, 7), 14);
  EXPECT_EQ(row_bytes(DType::q4_1, 576), 360);
  EXPECT_EQ(row_bytes(DType::q6_k, 512), 420);
  EXPECT_THROW(row_bytes(DType::q4_k, 32), Error);
  for (int i = 0; i < kDTypeCount; ++i) EXPECT_EQ(dtype_named(name(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_FALSE(dtype_named("q4_9"));
}

TEST(Shape, CountsRowsAndElements) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 3, 4}).rows(), 6);
  EXPECT_EQ((Shape{0, 4}).rows(), 0);
  EXPECT_EQ((Shape{4, 0}).rows(), 0);
  EXPECT_EQ((Shape{2, 3}).to_string(), "[2, 3]");
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
}

TEST(Units, KeepThreeDigits) {
  EXPECT_EQ(format_seconds(1.8234e-3), "1.82 ms");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(0), "0.00 ns");
  EXPECT_EQ(format_bytes(98362432), "98.4 MB");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_capacity(int64_t{150} << 30), "150 GiB");
  EXPECT_EQ(format_rate(1.7e12, "B"), "1.70 TB/s");
  // What rounds to 1000 of a unit is 1 of the next.
  EXPECT_EQ(format_seconds(0.9999e-6), "1.00 us");
  EXPECT_EQ(format_seconds(0.99999), "1.00 s");
  EXPECT_EQ(format_bytes(999.9e6), "1.00 GB");
  EXPECT_EQ(format_bytes(999.4e6), "999 MB");
}

// The published test vectors of Philox 4x32-10 (Random123, kat_vectors): counter 0 and key 0; all ones.
TEST(Random, PhiloxMatchesItsTestVectors) {
  const Philox4 zero = philox(0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
}

TEST(Random, IsUniformEnoughAndSeedsDiffer) {
  Random random(7);
  double sum = 0, squares = 0;
  std::set<uint32_t> seen;
  for (int i = 0; i < 100000; ++i) {
    const float value = random.normal();
    sum += value;
    squares += value * value;
    seen.insert(random.below(10));
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_NE(uniform_at(1, 5), uniform_at(2, 5));
}

TEST(Units, CountsHaveThePluralOfTheirWord) {
  EXPECT_EQ(counted(1, "copy"), "1 copy");
  EXPECT_EQ(counted(2, "copy"), "2 copies");
  EXPECT_EQ(counted(0, "launch"), "0 launches");
  EXPECT_EQ(counted(3, "day"), "3 days");
  EXPECT_EQ(counted(2, "token"), "2 tokens");
}

TEST(Units, AShareOfNothingIsNone) {
  EXPECT_EQ(format_share(1, 8), "12.5%");
  EXPECT_EQ(format_share(-1, 8), "-12.5%");
  EXPECT_EQ(format_share(1, 0), "-");
}

}  // namespace
}  // namespace rafter
