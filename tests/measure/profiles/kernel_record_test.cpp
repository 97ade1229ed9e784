// Folding launches, and what is known of a kernel's bytes.
#include "rafter/measure/profiles/kernel_record.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

KernelRecord launch(std::string name, Quantity seconds, Quantity percent = std::nullopt) {
  KernelRecord kernel;
  kernel.name = std::move(name);
  kernel.seconds = seconds;
  kernel.dram_percent = percent;
  return kernel;
}

TEST(Fold, SumsTotalsAndWeighsAverages) {
  std::vector<KernelRecord> launches = {launch("a", 1.0, 90.0), launch("b", 5.0), launch("a", 3.0, 50.0)};
  launches[0].tensor_flops = {{"bf16", 10}};
  launches[2].tensor_flops = {{"bf16", 30}, {"fp8", 1}};
  launches[0].l2_bytes = 7;
  launches[2].gap_seconds = 0.5;
  const auto folded = fold(launches);
  ASSERT_EQ(folded.size(), 2u);
  EXPECT_EQ(folded[0].name, "a");
  EXPECT_EQ(folded[0].launches, 2);
  EXPECT_EQ(folded[0].seconds, 4.0);
  EXPECT_EQ(folded[0].seconds_per_launch(), 2.0);
  EXPECT_EQ(folded[0].dram_percent, 60.0) << "(1 s x 90 + 3 s x 50) / 4 s";
  EXPECT_EQ(folded[0].tensor_flops, (std::map<std::string, double>{{"bf16", 40}})) << "fp8 is known of one launch only";
  EXPECT_FALSE(folded[0].l2_bytes.has_value()) << "known of one launch only";
  EXPECT_EQ(folded[0].gap_seconds, 0.5) << "the first launch of a stream has no gap";
  EXPECT_FALSE(folded[1].dram_percent.has_value());
}

TEST(Fold, KeepsApartWhatDiffers) {
  std::vector<KernelRecord> launches(6, launch("a", 1.0));
  launches[1].grid = Dim3{2, 1, 1};
  launches[2].shapes = "[3]";
  launches[3].device = 1;
  launches[4].seconds.reset();  // untimed: its bytes belong to no seconds
  const auto folded = fold(launches);
  ASSERT_EQ(folded.size(), 5u);
  EXPECT_EQ(folded[0].launches, 2);
}

TEST(Fold, StreamsAreForgottenWhereTheyDiffer) {
  std::vector<KernelRecord> launches(2, launch("a", 1.0));
  launches[0].stream = 7;
  launches[1].stream = 8;
  EXPECT_FALSE(fold(launches)[0].stream.has_value());
}

TEST(KernelRecord, DramBytesByWhatIsKnown) {
  KernelRecord kernel;
  EXPECT_FALSE(kernel.dram_bytes().has_value());
  kernel.dram_bytes_per_second = 10;
  EXPECT_FALSE(kernel.dram_bytes().has_value()) << "a rate without a time";
  kernel.seconds = 2;
  EXPECT_EQ(kernel.dram_bytes(), 20.0);
  kernel.dram_bytes_read = 5;
  EXPECT_EQ(kernel.dram_bytes(), 20.0) << "one way is not both";
  kernel.dram_bytes_both = 8;
  EXPECT_EQ(kernel.dram_bytes(), 8.0);
  kernel.dram_bytes_written = 2;
  EXPECT_EQ(kernel.dram_bytes(), 7.0);
}

}  // namespace
}  // namespace rafter
