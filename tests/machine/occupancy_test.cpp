// Blocks that an SM holds, worked out by hand.
#include "rafter/machine/occupancy.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

// Of sm_90: 2048 threads, 32 blocks, 64 Ki registers, 228 KiB of shared memory, 1 KiB of it kept for each block.
TEST(Occupancy, ByHandForHopper) {
  EXPECT_EQ(predict_occupancy({}, {256, 32, 0}).warps, 64);
  EXPECT_EQ(predict_occupancy({}, {256, 32, 0}).limit, OccupancyLimit::threads);
  EXPECT_EQ(predict_occupancy({}, {32, 32, 0}).warps, 32);
  EXPECT_EQ(predict_occupancy({}, {32, 32, 0}).limit, OccupancyLimit::blocks);
  // 48 registers x 32 lanes = 1536 a warp, x 8 warps = 12288 a block: 5 blocks of 65536.
  EXPECT_EQ(predict_occupancy({}, {256, 48, 0}).blocks, 5);
  EXPECT_EQ(predict_occupancy({}, {256, 48, 0}).limit, OccupancyLimit::registers);
  // 63 registers round up to 2048 a warp: 4 blocks.
  EXPECT_EQ(predict_occupancy({}, {256, 63, 0}).warps, 32);
  // 100 KiB and the kept one: 2 of 228.
  EXPECT_EQ(predict_occupancy({}, {256, 32, 100 * 1024}).blocks, 2);
  EXPECT_EQ(predict_occupancy({}, {256, 32, 100 * 1024}).limit, OccupancyLimit::shared_memory);
  EXPECT_DOUBLE_EQ(predict_occupancy({}, {256, 32, 100 * 1024}).fraction, 0.25);
}

TEST(Occupancy, ABlockThatDoesNotFitHasNone) { EXPECT_EQ(predict_occupancy({}, {256, 32, 300 * 1024}).blocks, 0); }

}  // namespace
}  // namespace rafter
