// Random filling on the CPU: the stream of the seed, whatever the stride and the type.
#include "rafter/kernels/random/random.h"

#include <gtest/gtest.h>

#include <vector>

#include "rafter/base/error.h"
#include "rafter/base/half.h"
#include "rafter/device/device.h"

namespace rafter {
namespace {

TEST(FillUniform, MakesTheStreamOfTheSeedWhateverTheStride) {
  constexpr int64_t kRows = 5, kWidth = 7, kStride = 9;
  std::vector<float> values(kRows * kStride, -77.0f);
  const Tensor tensor{DType::f32, {kRows, kWidth}, kStride * 4, values.data(), {}};
  fill_uniform(tensor, 42, -0.5f, 2.0f, *device(DeviceId{}).make_stream());
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < kStride; ++i) {
      const float value = values[static_cast<size_t>(r * kStride + i)];
      if (i >= kWidth) {
        EXPECT_EQ(value, -77.0f) << "the gap between rows was written";
        continue;
      }
      EXPECT_EQ(value, random_between(42, static_cast<uint64_t>(r * kWidth + i), -0.5f, 2.0f));
      EXPECT_GE(value, -0.5f);
      EXPECT_LT(value, 2.0f);
    }
  }
}

TEST(FillUniform, RoundsToSixteenBits) {
  std::vector<uint16_t> f16(100), bf16(100);
  const auto stream = device(DeviceId{}).make_stream();
  fill_uniform(Tensor::contiguous(DType::f16, {100}, f16.data()), 7, -1, 1, *stream);
  fill_uniform(Tensor::contiguous(DType::bf16, {100}, bf16.data()), 7, -1, 1, *stream);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(f16[i], float_to_f16(random_between(7, i, -1, 1)));
    EXPECT_EQ(bf16[i], float_to_bf16(random_between(7, i, -1, 1)));
  }
}

TEST(FillUniform, IsEvenlySpread) {
  constexpr int64_t kCount = 100'000;
  std::vector<float> values(kCount);
  fill_uniform(Tensor::contiguous(DType::f32, {kCount}, values.data()), 1, 0, 1, *device(DeviceId{}).make_stream());
  int tenths[10] = {};
  for (const float value : values) ++tenths[static_cast<int>(value * 10)];
  for (const int count : tenths) EXPECT_NEAR(count, kCount / 10, 500);  // five standard deviations
}

TEST(FillUniform, RefusesBlockFormats) {
  EXPECT_THROW(fill_uniform(Tensor::contiguous(DType::q4_0, {32}, nullptr), 1, 0, 1, *device(DeviceId{}).make_stream()), Error);
}

}  // namespace
}  // namespace rafter
