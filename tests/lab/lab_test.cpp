// Every chapter on the CPU, and what is refused.
#include "rafter/lab/lab.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/report/figure_charts.h"

namespace rafter {
namespace {

TEST(Lab, AnUnknownChapterIsRefusedWithTheNames) {
  try {
    lab_named("nothing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_NE(std::string(error.what()).find("threads, memory, roofline"), std::string::npos) << error.what();
  }
}

TEST(Lab, ChaptersAreThoseOfTheSeries) {
  EXPECT_EQ(lab_named("threads").chapter, 2);
  EXPECT_EQ(lab_named("memory").chapter, 3);
  EXPECT_EQ(lab_named("roofline").chapter, 4);
}

// Every chapter on the CPU: figures, a page whose text names what a GPU would add, and a document that holds them.
class LabOnCpu : public ::testing::TestWithParam<const char*> {};

TEST_P(LabOnCpu, MeasuresAndExplains) {
  const Lab& lab = lab_named(GetParam());
  double last = 0;
  const LabResult result = lab.run({DeviceId{}, true}, [&](double fraction, const std::string&) { last = fraction; });
  EXPECT_GT(last, 0);
  EXPECT_FALSE(result.measured.figures.empty());
  const std::string text = page_text(result.page);
  EXPECT_NE(text.find("A GPU would add"), std::string::npos) << text;
  const Json json = Json::parse(lab_json(lab, result));
  EXPECT_EQ(json["schema"], "rafter.lab/1");
  EXPECT_EQ(json["lab"], GetParam());
  EXPECT_EQ(json["figures"].size(), result.measured.figures.size());
  const std::string name = GetParam();
  EXPECT_EQ(json["roofline"].is_null(), name != "roofline" && name != "one-token");
  EXPECT_NE(html(result.page).find("<title>"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Chapters, LabOnCpu, ::testing::Values("threads", "memory", "roofline", "one-token"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rafter
