#include "rafter/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rafter {
namespace {

// Every half survives the trip to float and back; floats between two halves go to the nearest, ties to the even one.
TEST(Half, F16RoundTripsAndRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = f16_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(value))));
      continue;
    }
    ASSERT_EQ(float_to_f16(value), half) << bits;
    if ((half & 0x7fff) >= 0x7bff) continue;
    const float next = f16_to_float(static_cast<uint16_t>(half + 1)), middle = value + (next - value) / 2;
    ASSERT_EQ(float_to_f16(middle), half % 2 == 0 ? half : half + 1) << bits;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, value)), half) << bits;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, next)), half + 1) << bits;
  }
  EXPECT_EQ(float_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f16_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_float(0x3c00), 1.0f);
}

TEST(Half, Bf16RoundTripsAndRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = bf16_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(value))));
    } else {
      ASSERT_EQ(float_to_bf16(value), half) << bits;
    }
  }
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f), 0x3f80);  // a tie, to even
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace rafter
