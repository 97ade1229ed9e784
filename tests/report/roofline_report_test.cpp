// Kernels placed under roofs worked out by hand.
#include "rafter/report/roofline.h"

#include <gtest/gtest.h>

#include "rafter/base/json_value.h"

namespace rafter {
namespace {

Machine machine_with_roofs() {
  Machine machine;
  machine.device.name = "a GPU";
  const auto add = [&](const char* name, const char* state, double value) {
    machine.figures.push_back({name, {{"bytes", 1e9}}, state, "B/s", {value, 0, 10}, {}});
  };
  add("dram.read", "cold", 1e12);
  add("math.bf16.wgmma", "burst", 100e12);
  return machine;
}

KernelRecord kernel(const char* name, Quantity seconds, Quantity bytes, Quantity flops) {
  KernelRecord record;
  record.name = record.short_name = name;
  record.dtype = "bf16";
  record.seconds = seconds;
  record.needed_bytes = bytes;
  record.needed_flops = flops;
  return record;
}

Roofline sample() {
  Profile profile;
  profile.path = "step.json";
  profile.kernels = {kernel("small", 1e-4, 1e6, 1e6), kernel("large", 1e-3, 0.5e9, 1e9), kernel("untimed", {}, 1e6, 1e6)};
  return place_kernels(std::move(profile), machine_with_roofs());
}

TEST(RooflineReport, TheLongestIsFirstAndWhatIsUnknownLast) {
  const Roofline r = sample();
  ASSERT_EQ(r.kernels.size(), 3u);
  EXPECT_EQ(r.kernels[0].kernel.name, "large");
  EXPECT_EQ(r.kernels[2].kernel.name, "untimed");
  EXPECT_DOUBLE_EQ(r.seconds, 1.1e-3);
}

TEST(RooflineReport, PlaceAndGainAreByHand) {
  const Roofline r = sample();
  const PlacedKernel& large = r.kernels[0];
  EXPECT_DOUBLE_EQ(*large.intensity, 2);
  EXPECT_DOUBLE_EQ(*large.flops_per_second, 1e12);
  EXPECT_DOUBLE_EQ(*large.bytes_per_second, 0.5e12);
  EXPECT_DOUBLE_EQ(*large.share, 1e-3 / 1.1e-3);
  ASSERT_TRUE(large.bottleneck.fraction.has_value());
  EXPECT_NEAR(*large.bottleneck.fraction, 0.5, 1e-12);  // 0.5 GB at 1 TB/s is half of its millisecond
  EXPECT_NEAR(*large.gain_seconds, 0.5e-3, 1e-12);
}

TEST(RooflineReport, AnUntimedKernelHasNoPlaceAndNullInTheDocument) {
  const Roofline r = sample();
  EXPECT_FALSE(r.kernels[2].plottable());
  const Json json = Json::parse(roofline_json(r));
  EXPECT_EQ(json["schema"], "rafter.roofline/1");
  EXPECT_TRUE(json["kernels"][2]["time_s"].is_null());
  EXPECT_TRUE(json["kernels"][2]["flops_per_s"].is_null());
  EXPECT_TRUE(json["kernels"][2]["fraction"].is_null());
}

TEST(RooflineReport, TheTableSaysHowManyAreLeftOut) {
  const std::string text = roofline_text(sample(), 1);
  EXPECT_NE(text.find("large"), std::string::npos);
  EXPECT_EQ(text.find("untimed"), std::string::npos);
  EXPECT_NE(text.find("2 kernels more"), std::string::npos);
}

std::string text_of(std::vector<KernelRecord> kernels, ProfileKind kind) {
  Profile profile;
  profile.kind = kind;
  profile.kernels = std::move(kernels);
  return roofline_text(place_kernels(std::move(profile), machine_with_roofs()), 0);
}

TEST(RooflineReport, LaunchesOfOneKernelByTwoShapesAreToldApart) {
  KernelRecord small = kernel("gemm", 1e-4, 1e6, 2e9), large = kernel("gemm", 1e-3, 4e6, 8e9);
  small.op = large.op = "aten::mm";
  small.shapes = "[8,8] x [8,8]";
  large.shapes = "[16,16] x [16,16]";
  const std::string text = text_of({small, large}, ProfileKind::pytorch_trace);
  EXPECT_NE(text.find("\naten::mm: gemm  "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  aten::mm: gemm of [8,8] x [8,8]: needs"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  aten::mm: gemm of [16,16] x [16,16]: needs"), std::string::npos) << text;
}

TEST(RooflineReport, AFileWithoutCountersIsSaidToHaveNone) {
  constexpr const char* kNote = "memory and math are what the maths needs";
  KernelRecord needs = kernel("a", 1e-3, 1e6, 1e9), counted = kernel("b", 1e-3, {}, {}), nothing = counted;
  counted.dram_bytes_both = 1e9;
  EXPECT_NE(text_of({needs, nothing}, ProfileKind::pytorch_trace).find(kNote), std::string::npos);
  EXPECT_EQ(text_of({needs, counted}, ProfileKind::pytorch_trace).find(kNote), std::string::npos);
  EXPECT_EQ(text_of({nothing}, ProfileKind::nsys_sqlite).find(kNote), std::string::npos);
}

TEST(RooflineReport, TheUnknownOfNsightComputeNamesTheMetricsThatWouldTell) {
  const KernelRecord timed = kernel("k", 1e-3, {}, {});
  EXPECT_NE(text_of({timed}, ProfileKind::ncu_csv).find("; dram__throughput.avg.pct_of_peak_sustained_elapsed, sm__"),
            std::string::npos);
  EXPECT_EQ(text_of({timed}, ProfileKind::nsys_sqlite).find("dram__throughput"), std::string::npos) << "it could not have them";
}

TEST(RooflineReport, AHighIntensityIsAPlainNumber) {
  EXPECT_NE(text_of({kernel("k", 1e-3, 1e6, 1.2256e9)}, ProfileKind::pytorch_trace).find(" 1226 "), std::string::npos);
}

TEST(RooflineReport, ThePageHoldsThePlacedKernels) {
  const Page page = roofline_page(sample());
  size_t points = 0;
  for (const Section& section : page.sections) {
    for (const Block& block : section.blocks) {
      if (const auto* chart = std::get_if<RooflineChart>(&block)) points += chart->points.size();
    }
  }
  EXPECT_EQ(points, 2u);
}

TEST(RooflineReport, WithoutAMachineThereIsNoRoofAndNoInvention) {
  Profile profile;
  profile.kernels = {kernel("k", 1e-3, 1e9, 1e9)};
  const Roofline r = place_kernels(std::move(profile), {});
  EXPECT_FALSE(r.kernels[0].bottleneck.fraction.has_value());
  EXPECT_NE(roofline_text(r, 0).find("no measured roofs"), std::string::npos);
}

}  // namespace
}  // namespace rafter
