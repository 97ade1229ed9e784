// The bars of a step add up to it, whatever is known of its parts.
#include "rafter/measure/recording/waterfall.h"

#include <gtest/gtest.h>

#include "rafter/measure/recording/explained_step.h"

namespace rafter {
namespace {

double sum(const Waterfall& fall) {
  double seconds = 0;
  for (const Bar& bar : fall.bars) {
    EXPECT_NEAR(bar.from_seconds, seconds, 1e-9) << bar.name;
    seconds += bar.seconds;
  }
  return seconds;
}

double bar(const Waterfall& fall, const std::string& name) {
  for (const Bar& b : fall.bars) {
    if (b.name == name) return b.seconds;
  }
  ADD_FAILURE() << "no bar is called " << name;
  return 0;
}

// 100 = 60 (floor) + 10 (the floors 55 and 15, less 60) + 5 + 3 (beyond floors) + 8 (unknown) + 2 + 4 (gaps) + 7 (host) + 1.
StepParts hand_worked() {
  StepParts parts;
  parts.seconds = 100;
  parts.floor_seconds = 60;
  parts.classes = {{"attention", 18, 15}, {"matmul", 60, 55}, {"sort", 8, std::nullopt}};
  parts.gaps = {2, 4, 0};
  parts.host_seconds = 7;
  return parts;
}

TEST(Waterfall, AddsUpByHand) {
  const Waterfall fall = waterfall(hand_worked());
  EXPECT_NEAR(sum(fall), 100, 1e-9);
  EXPECT_NEAR(bar(fall, "floor of the step"), 60, 1e-9);
  EXPECT_NEAR(bar(fall, "memory and maths one at a time"), 10, 1e-9);
  EXPECT_NEAR(bar(fall, "matmul"), 5, 1e-9);
  EXPECT_NEAR(bar(fall, "attention"), 3, 1e-9);
  EXPECT_NEAR(bar(fall, "sort"), 8, 1e-9);
  EXPECT_NEAR(bar(fall, "gaps: late launches"), 2, 1e-9);
  EXPECT_NEAR(bar(fall, "gaps: dependency and ramp"), 4, 1e-9);
  EXPECT_NEAR(bar(fall, "host between steps"), 7, 1e-9);
  EXPECT_NEAR(fall.unexplained(), 1, 1e-9);
  EXPECT_TRUE(fall.adds_up());
  EXPECT_EQ(fall.bars[2].name, "matmul") << "what loses most comes first";
}

TEST(Waterfall, WhatIsLeftIsShownAboveOrBelowZero) {
  StepParts parts = hand_worked();
  parts.seconds = 90;
  const Waterfall fall = waterfall(parts);
  EXPECT_NEAR(fall.unexplained(), -9, 1e-9);
  EXPECT_FALSE(fall.adds_up());
  EXPECT_NEAR(sum(fall), 90, 1e-9);
}

TEST(Waterfall, AClassThatBeatsItsFloorTakesAway) {
  StepParts parts;
  parts.seconds = 10;
  parts.floor_seconds = 12;
  parts.classes = {{"cached", 10, 12}};
  const Waterfall fall = waterfall(parts);
  EXPECT_NEAR(bar(fall, "cached"), -2, 1e-9);
  EXPECT_NEAR(sum(fall), 10, 1e-9);
  EXPECT_NEAR(fall.unexplained(), 0, 1e-9);
}

TEST(Waterfall, WithoutAFloorOfTheStepThoseOfTheKernelsStandForIt) {
  StepParts parts = hand_worked();
  parts.floor_seconds.reset();
  const Waterfall fall = waterfall(parts);
  EXPECT_NEAR(bar(fall, "floors of the kernels"), 70, 1e-9);
  EXPECT_NEAR(sum(fall), 100, 1e-9);
}

TEST(Waterfall, WithNoFloorAtAllKernelsAreTheirWholeTime) {
  StepParts parts;
  parts.seconds = 12;
  for (int i = 0; i < 12; ++i) parts.classes.push_back({"k" + std::to_string(i), 1, std::nullopt});
  const Waterfall fall = waterfall(parts, 4);
  ASSERT_EQ(fall.bars.size(), 6u);
  EXPECT_EQ(fall.bars[4].name, "8 other kernels of unknown floor");
  EXPECT_NEAR(fall.bars[4].seconds, 8, 1e-9);
  EXPECT_NEAR(sum(fall), 12, 1e-9);
}

ProfiledLaunch launch(const std::string& name, double own, double launches) {
  ProfiledLaunch l;
  l.name = name;
  l.own_seconds = own;
  l.launches = launches;
  return l;
}

TEST(WhichFirst, TheGreatestGainThenTheUnknown) {
  StepProfile profile;
  profile.seconds = 200e-6;
  profile.kernels = {launch("near_roof(float*)", 100e-6, 1), launch("far(float*)", 60e-6, 2), launch("tiny(int)", 30e-6, 15),
                     launch("copy device to host", 1e-6, 1)};
  profile.kernels[3].sample.kind = RecordedKind::copy;
  KnownWork work;
  work["near_roof(float*)"].floor_seconds = 95e-6;
  work["far(float*)"].floor_seconds = 20e-6;
  const ExplainedStep step = explain(profile, work);
  const auto order = step.which_first();
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0]->short_name, "far");
  EXPECT_NEAR(*order[0]->gain_seconds, 40e-6, 1e-12);
  EXPECT_EQ(order[1]->short_name, "near_roof");
  EXPECT_NEAR(*order[1]->fraction(), 0.95, 1e-9);
  EXPECT_EQ(order[2]->short_name, "tiny");
  EXPECT_FALSE(order[2]->gain_seconds);
  EXPECT_EQ(order[2]->bottleneck.limit, Bound::launch) << "2 us each";
  EXPECT_NEAR(step.fall.unexplained(), 9e-6, 1e-12);
}

TEST(WhichFirst, RoofsAndMeasuredBytesMakeAFloor) {
  StepProfile profile;
  profile.kernels = {launch("stream(float*)", 100e-6, 1)};
  KnownWork work;
  work["stream(float*)"].dram_bytes_read = 200e6;
  work["stream(float*)"].dram_bytes_written = 0;
  KernelRoofs roofs;
  roofs.dram_bytes_per_second = 4e12;
  const ExplainedStep step = explain(profile, work, roofs);
  EXPECT_NEAR(*step.kernels[0].floor_seconds, 50e-6, 1e-12);
  EXPECT_NEAR(*step.kernels[0].gain_seconds, 50e-6, 1e-12);
}

}  // namespace
}  // namespace rafter
