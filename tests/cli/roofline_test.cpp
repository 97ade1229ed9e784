// `rafter roofline`: profiles in, tables, JSON and pages out.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/support/profile_files.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using nlohmann::json;
using test::Outcome;

// Two kernels of which one takes three quarters of the time, as `ncu --page details --csv` writes them.
std::string small_ncu_csv() {
  return test::details_titles() + test::details_row("0", "copy_rows", "Duration", "us", "10") +
         test::details_row("0", "copy_rows", "DRAM Throughput", "%", "91.5") +
         test::details_row("1", "add_rows", "Duration", "us", "30") +
         test::details_row("1", "add_rows", "DRAM Throughput", "%", "20");
}

class RooflineVerb : public testing::Test {
 protected:
  RooflineVerb() : csv(folder.write("app.csv", small_ncu_csv())) {}
  json parsed(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  test::TempFolder folder;
  std::string csv;
};

TEST_F(RooflineVerb, AnNcuTableAsTextTheLongestFirst) {
  const Outcome outcome = test::rafter({"roofline", csv});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const size_t add = outcome.out.find("add_rows"), copy = outcome.out.find("copy_rows");
  ASSERT_NE(add, std::string::npos) << outcome.out;
  EXPECT_LT(add, copy) << outcome.out;
  for (const char* part : {": 2 kernels, 40.0 us of GPU time", "limited by", "75.0%"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << '\n' << outcome.out;
  }
  const Outcome one = test::rafter({"roofline", csv, "--top", "1"});
  EXPECT_EQ(one.out.find("copy_rows"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("1 kernel more: --top 0 shows all"), std::string::npos) << one.out;
}

TEST_F(RooflineVerb, JsonHasEveryKernel) {
  const json document = parsed(test::rafter({"roofline", csv, "--json"}));
  EXPECT_EQ(document["schema"], "rafter.roofline/1");
  ASSERT_EQ(document["kernels"].size(), 2u);
  EXPECT_EQ(document["kernels"][0]["short_name"], "add_rows");
  EXPECT_NEAR(document["kernels"][0]["time_s"].get<double>(), 30e-6, 1e-9);
  EXPECT_TRUE(document["machine"].is_null());
}

TEST_F(RooflineVerb, ATracesJsonIsAProfileToo) {
  const std::string model = folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::qwen2)).bytes());
  const Outcome trace = test::rafter({"trace", model, "--device", "cpu", "-r", "2", "--json"});
  ASSERT_EQ(trace.status, 0) << trace.err;
  const json document = parsed(test::rafter({"roofline", folder.write("step.json", trace.out), "--json"}));
  double total = 0;
  for (const json& kernel : document["kernels"]) total += kernel["time_s"].get<double>();
  EXPECT_NEAR(total, json::parse(trace.out)["step"]["ops_s"].get<double>(), 1e-9);
  EXPECT_FALSE(document["kernels"][0]["flops"].is_null());
}

TEST_F(RooflineVerb, APageAndAFileInPlaceOfStandardOutput) {
  const std::string page = folder.path("page.html"), out = folder.path("out.txt");
  const Outcome outcome = test::rafter({"roofline", csv, "--html", page, "--out", out});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::stringstream html, text;
  html << std::ifstream(page).rdbuf();
  text << std::ifstream(out).rdbuf();
  EXPECT_TRUE(html.str().starts_with("<!")) << html.str().substr(0, 80);
  EXPECT_NE(html.str().find("add_rows"), std::string::npos);
  EXPECT_NE(text.str().find("add_rows"), std::string::npos);
}

TEST_F(RooflineVerb, BadFilesAreRefused) {
  const auto refused = [&](std::vector<std::string> arguments, const char* part) {
    arguments.insert(arguments.begin(), "roofline");
    const Outcome outcome = test::rafter(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << '\n' << outcome.err;
  };
  EXPECT_TRUE(test::rafter({"roofline", folder.path("none.csv")}).err.starts_with("rafter: "));
  refused({folder.path("none.csv")}, "none.csv");
  refused({folder.path()}, folder.path().c_str());
  refused({folder.write("empty.csv", "")}, "empty.csv");
  refused({folder.write("prose.txt", "no table at all")}, "prose.txt");
  refused({folder.write("other.json", "{\"schema\": \"other/1\"}")}, "other.json");
  refused({csv, "--machine", folder.path("none.json")}, "none.json");
  refused({csv, "--out", folder.path("no/such/folder")}, "no/such/folder");
}

}  // namespace
}  // namespace rafter
