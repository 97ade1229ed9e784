// Blocks written by hand, their values worked out by hand: the layouts are checked against their own definition and not
// against the decoder's code.
#include "rafter/ops/block_formats.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rafter/base/half.h"

namespace rafter {
namespace {

template <typename Block>
std::vector<float> decode_one(DType dtype, const Block& block) {
  std::vector<float> values(static_cast<size_t>(info(dtype).block_elements));
  // From an odd address: files promise no alignment.
  std::vector<char> bytes(sizeof(Block) + 1);
  std::memcpy(bytes.data() + 1, &block, sizeof(Block));
  decode_row(dtype, bytes.data() + 1, info(dtype).block_elements, values.data());
  return values;
}

TEST(BlockFormats, Q4) {
  BlockQ4_0 a{float_to_f16(0.5f), {}};
  a.nibbles[0] = 0xf0;  // weight 0 is 0, weight 16 is 15
  a.nibbles[3] = 0x29;  // weight 3 is 9, weight 19 is 2
  const auto x = decode_one(DType::q4_0, a);
  EXPECT_EQ(x[0], -4.0f);
  EXPECT_EQ(x[16], 3.5f);
  EXPECT_EQ(x[3], 0.5f);
  EXPECT_EQ(x[19], -3.0f);

  BlockQ4_1 b{float_to_f16(0.25f), float_to_f16(-2.0f), {}};
  b.nibbles[15] = 0x4c;
  const auto y = decode_one(DType::q4_1, b);
  EXPECT_EQ(y[15], 1.0f);
  EXPECT_EQ(y[31], -1.0f);
  EXPECT_EQ(y[0], -2.0f);
}

TEST(BlockFormats, Q5) {
  BlockQ5_0 a{float_to_f16(1.0f), {}, {}};
  a.nibbles[2] = 0x31;
  a.high[0] = 0x04;  // weight 2's fifth bit
  a.high[2] = 0x04;  // weight 18's
  const auto x = decode_one(DType::q5_0, a);
  EXPECT_EQ(x[2], 1.0f);   // 17 - 16
  EXPECT_EQ(x[18], 3.0f);  // 19 - 16
  EXPECT_EQ(x[0], -16.0f);

  BlockQ5_1 b{float_to_f16(2.0f), float_to_f16(1.0f), {}, {}};
  b.nibbles[15] = 0x0f;
  b.high[3] = 0x80;  // weight 31's
  const auto y = decode_one(DType::q5_1, b);
  EXPECT_EQ(y[15], 31.0f);
  EXPECT_EQ(y[31], 33.0f);
}

TEST(BlockFormats, Q8) {
  BlockQ8_0 a{float_to_f16(0.125f), {}};
  a.q[0] = -128;
  a.q[31] = 127;
  const auto x = decode_one(DType::q8_0, a);
  EXPECT_EQ(x[0], -16.0f);
  EXPECT_EQ(x[31], 15.875f);
}

// Group 1 has scale 5 and minimum 3 in the low six bits; group 6 has scale 0x2b and minimum 0x1d, split over the bytes.
void put_scales(uint8_t scales[12]) {
  scales[1] = 5;
  scales[5] = 3;
  scales[10] = static_cast<uint8_t>(0x0b | 0x0d << 4);  // low four bits of group 6
  scales[2] = 2 << 6;                                   // high two of its scale
  scales[6] = 1 << 6;                                   // high two of its minimum
}

TEST(BlockFormats, Q4K) {
  BlockQ4_K a{float_to_f16(2.0f), float_to_f16(0.5f), {}, {}};
  put_scales(a.scales);
  a.nibbles[0] = 0x70;            // group 1, weight 0
  a.nibbles[3 * 32 + 31] = 0x09;  // group 6, weight 31
  const auto x = decode_one(DType::q4_k, a);
  EXPECT_EQ(x[32], 2.0f * 5 * 7 - 0.5f * 3);
  EXPECT_EQ(x[6 * 32 + 31], 2.0f * 0x2b * 9 - 0.5f * 0x1d);
  EXPECT_EQ(x[0], 0.0f);
}

TEST(BlockFormats, Q5K) {
  BlockQ5_K a{float_to_f16(2.0f), float_to_f16(0.5f), {}, {}, {}};
  put_scales(a.scales);
  a.nibbles[0] = 0x70;
  a.high[0] = 1 << 1;  // group 1's fifth bit of weight 0
  a.high[31] = 1 << 6;
  const auto x = decode_one(DType::q5_k, a);
  EXPECT_EQ(x[32], 2.0f * 5 * 23 - 0.5f * 3);
  EXPECT_EQ(x[6 * 32 + 31], 2.0f * 0x2b * 16 - 0.5f * 0x1d);
}

TEST(BlockFormats, Q6K) {
  BlockQ6_K a{{}, {}, {}, float_to_f16(0.5f)};
  for (int i = 0; i < 16; ++i) a.scales[i] = static_cast<int8_t>(i - 8);
  a.low[0] = 0xa5;            // weights 0 (5) and 64 (10)
  a.high[0] = 0b11'01'00'10;  // pairs: weight 0 has 2, 32 has 0, 64 has 1, 96 has 3
  const auto x = decode_one(DType::q6_k, a);
  EXPECT_EQ(x[0], 0.5f * -8 * (5 + 32 - 32));
  EXPECT_EQ(x[32], 0.5f * -6 * (0 - 32));
  EXPECT_EQ(x[64], 0.5f * -4 * (10 + 16 - 32));
  EXPECT_EQ(x[96], 0.5f * -2 * (0 + 48 - 32));
  EXPECT_EQ(x[255], 0.5f * 7 * -32);
}

}  // namespace
}  // namespace rafter
