// Knees of curves whose capacities are known, because they are made up here.
#include "rafter/machine/knees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rafter/base/random.h"

namespace rafter {
namespace {

constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024;
constexpr double kFine = 1.04, kCoarse = 1.25;  // the steps of a full and of a quick probe

using Shape = std::function<double(double x)>;

std::vector<KneePoint> curve(double from, double to, double step, const Shape& shape, double noise = 0, uint64_t seed = 1) {
  Random random(seed);
  std::vector<KneePoint> points;
  for (double x = from; x <= to; x *= step) points.push_back({x, shape(x) * (1 + noise * random.normal())});
  return points;
}

// A cache of the capacity in front of something slower, with random hits beyond it.
double cached(double x, double capacity, double hit, double miss) {
  const double share = std::min(1.0, capacity / x);
  return share * hit + (1 - share) * miss;
}

double chase(double x) {  // L1 of 200 KiB, L2 of 40 MiB, as a GPU's
  return x < 200 * kKi ? 19e-9 : x < 40 * kMi ? cached(x, 200 * kKi, 19e-9, 150e-9) : cached(x, 40 * kMi, 150e-9, 400e-9);
}

void expect_near(double found, double wanted, double relative) { EXPECT_NEAR(found / wanted, 1, relative) << found; }

TEST(Knees, OneStep) {
  const auto knees =
      find_knees(curve(4 * kKi, 4 * kMi, kFine, [](double x) { return x <= 128 * kKi ? 10 : 40; }), Worse::higher);
  ASSERT_EQ(knees.size(), 1u);
  expect_near(knees[0].x, 128 * kKi, 0.04);
  expect_near(knees[0].before.y, 10, 1e-6);
  expect_near(knees[0].after, 40, 1e-6);
  EXPECT_LE(knees[0].inside, 128 * kKi);
  EXPECT_GT(knees[0].beyond, 128 * kKi);
  EXPECT_TRUE(knees[0].settles);
  EXPECT_DOUBLE_EQ(knees[0].sure, 1);
}

TEST(Knees, TwoCapacitiesWithRandomHitsBeyondThem) {
  const auto knees = find_knees(curve(4 * kKi, 1 * kGi, kFine, chase), Worse::higher);
  ASSERT_EQ(knees.size(), 2u);
  expect_near(knees[0].x, 200 * kKi, 0.03);
  expect_near(knees[1].x, 40 * kMi, 0.06);
  expect_near(knees[0].before.y, 19e-9, 0.01);
  expect_near(knees[0].after, 150e-9, 0.1);
}

TEST(Knees, NoiseOfThreePercentMovesThemLittle) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto knees = find_knees(curve(4 * kKi, 1 * kGi, kFine, chase, 0.03, seed), Worse::higher);
    ASSERT_EQ(knees.size(), 2u) << seed;
    expect_near(knees[0].x, 200 * kKi, 0.1);
    expect_near(knees[1].x, 40 * kMi, 0.25);
  }
}

TEST(Knees, CoarseStepsOfAQuickProbeFindThemToo) {
  const auto knees = find_knees(curve(4 * kKi, 1 * kGi, kCoarse, chase, 0.01), Worse::higher);
  ASSERT_EQ(knees.size(), 2u);
  expect_near(knees[0].x, 200 * kKi, 0.25);
  expect_near(knees[1].x, 40 * kMi, 0.25);
}

TEST(Knees, ThreeSteps) {
  const auto levels = [](double x) { return x <= 128 * kKi ? 20.0 : x <= 2 * kMi ? 120.0 : x <= 50 * kMi ? 150.0 : 400.0; };
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto knees = find_knees(curve(4 * kKi, 1 * kGi, kFine, levels, 0.02, seed), Worse::higher);
    ASSERT_EQ(knees.size(), 3u) << seed;
    expect_near(knees[0].x, 128 * kKi, 0.05);
    expect_near(knees[1].x, 2 * kMi, 0.15);  // a quarter more time only
    expect_near(knees[2].x, 50 * kMi, 0.05);
  }
}

TEST(Knees, OfABandwidthThatFalls) {
  const auto bandwidth = [](double x) { return 1 / cached(x, 30 * kMi, 1 / 9e12, 1 / 4e12); };
  const auto points = curve(1 * kMi, 400 * kMi, 1.12, bandwidth, 0.005);
  const auto knees = find_knees(points, Worse::lower);
  ASSERT_EQ(knees.size(), 1u);
  expect_near(knees[0].x, 30 * kMi, 0.12);
  expect_near(knees[0].before.y, 9e12, 0.02);
  EXPECT_LT(knees[0].after, 5e12);
  EXPECT_TRUE(find_knees(points, Worse::higher).empty());  // where more is better nothing got worse
}

TEST(Knees, AnOutlierIsNone) {
  auto points = curve(
      4 * kKi, 4 * kMi, kFine, [](double x) { return x <= 128 * kKi ? 10.0 : 40.0; }, 0.01);
  points[30].y *= 3;
  points[130].y /= 2;
  const auto knees = find_knees(points, Worse::higher);
  ASSERT_EQ(knees.size(), 1u);
  expect_near(knees[0].x, 128 * kKi, 0.04);
}

TEST(Knees, AFlatCurveHasNone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto points = curve(
        4 * kKi, 1 * kGi, kFine, [](double) { return 20.0; }, 0.03, seed);
    EXPECT_TRUE(find_knees(points, Worse::higher).empty()) << seed;
    EXPECT_EQ(find_plateaus(points).size(), 1u) << seed;
  }
}

TEST(Knees, ARampHasNeitherPlateauNorKnee) {
  const auto points = curve(
      4 * kKi, 1 * kGi, kFine, [](double x) { return std::sqrt(x); }, 0.02);
  EXPECT_TRUE(find_plateaus(points).empty());
  EXPECT_TRUE(find_knees(points, Worse::higher).empty());
}

TEST(Knees, ASlowRiseAlongAPlateauIsNone) {
  const auto drift = [](double x) { return 100 * std::pow(x, 0.03); };  // 2% a doubling
  EXPECT_TRUE(find_knees(curve(4 * kKi, 1 * kGi, kFine, drift, 0.01), Worse::higher).empty());
}

TEST(Knees, WithoutAPlateauBehindItIsLessSure) {
  const auto shape = [](double x) { return x < 8 * kMi ? 100 : 100 * std::pow(x / (8 * kMi), 0.7); };
  const auto knees = find_knees(curve(64 * kKi, 64 * kMi, kFine, shape, 0.01), Worse::higher);
  ASSERT_EQ(knees.size(), 1u);
  expect_near(knees[0].x, 8 * kMi, 0.1);
  EXPECT_FALSE(knees[0].settles);
  EXPECT_LE(knees[0].sure, 0.5);
}

TEST(Knees, WithoutAPlateauInFrontThereIsNone) {
  const auto shape = [](double x) { return x < 8 * kMi ? x / (8 * kMi) : 1.0; };
  EXPECT_TRUE(find_knees(curve(64 * kKi, 64 * kMi, kFine, shape), Worse::higher).empty());
}

TEST(Knees, TooFewOrBadPointsGiveNone) {
  EXPECT_TRUE(find_knees({}, Worse::higher).empty());
  const auto step = curve(4 * kKi, 4 * kMi, 3, [](double x) { return x <= 128 * kKi ? 10 : 40; });
  EXPECT_LT(step.size(), 10u);
  EXPECT_TRUE(find_knees(step, Worse::higher).empty());
  const std::vector<KneePoint> bad(40, KneePoint{0, std::nan("")});
  EXPECT_TRUE(find_knees(bad, Worse::higher).empty());
  const std::vector<KneePoint> one_place(40, KneePoint{1024, 5});
  EXPECT_TRUE(find_knees(one_place, Worse::higher).empty());
}

TEST(Knees, NoiseIsMeasuredDespiteATrend) {
  EXPECT_NEAR(curve_noise(curve(
                  4 * kKi, 1 * kGi, kFine, [](double x) { return std::sqrt(x); }, 0.03)),
              0.03, 0.008);
}

TEST(Knees, AreDescribed) {
  const auto knees =
      find_knees(curve(4 * kKi, 4 * kMi, kFine, [](double x) { return x <= 128 * kKi ? 1e-8 : 4e-8; }), Worse::higher);
  ASSERT_EQ(knees.size(), 1u);
  EXPECT_EQ(describe(knees[0], "s").substr(0, 15), "10.0 ns up to 1");
}

}  // namespace
}  // namespace rafter
