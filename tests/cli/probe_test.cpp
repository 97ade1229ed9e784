// `rafter probe`: what it prints, keeps and compares, with a cache folder of the test's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

class ProbeVerb : public testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments) { return test::rafter(arguments, {.cache = folder.path("cache")}); }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    const std::string machines = folder.path("cache/rafter/machines");
    if (fs::exists(machines)) {
      for (const auto& entry : fs::directory_iterator(machines)) files.push_back(entry.path());
    }
    return files;
  }
  // The machine file of one figure.
  std::string file(const char* name, double read, double iqr, double latency) {
    json document = {{"schema", "rafter.machine/1"}, {"machine", {{"name", name}, {"uuid_hash", "00ff"}, {"device", "cpu"}}}};
    const auto figure = [&](const char* what, const char* unit, double median, double spread) {
      document["figures"].push_back(
          {{"name", what}, {"at", json::object()}, {"unit", unit}, {"median", median}, {"iqr", spread}, {"samples", 10}});
    };
    figure("dram.read", "B/s", read, iqr);
    figure("latency.l1", "s", latency, 0);
    return folder.write(std::string(name) + ".json", document.dump());
  }
  test::TempFolder folder;
};

TEST_F(ProbeVerb, ListsItsProbesAndMeasuresNothing) {
  const Outcome list = run({"probe", "--list", "--device", "cpu"});
  EXPECT_EQ(list.status, 0) << list.err;
  for (const char* name : {"bandwidth", "latency", "math", "overhead"}) {
    EXPECT_NE(list.out.find(name), std::string::npos) << list.out;
  }
  EXPECT_TRUE(kept().empty());
}

TEST_F(ProbeVerb, KeepsWhatItMeasuresAndTheOtherVerbsReadIt) {
  const Outcome before = run({"info"});
  EXPECT_NE(before.out.find("not probed: run `rafter probe"), std::string::npos) << before.out;
  const Outcome probe = run({"probe", "--quick", "--device", "cpu", "--json"});
  ASSERT_EQ(probe.status, 0) << probe.err;
  const json document = json::parse(probe.out);
  EXPECT_EQ(document["schema"], "rafter.machine/1");
  EXPECT_EQ(document["quick"], true);
  EXPECT_TRUE(document["command"].get<std::string>().starts_with("rafter probe --quick"));
  EXPECT_FALSE(document["commit"].is_null());
  EXPECT_FALSE(document["date"].is_null());
  ASSERT_EQ(kept().size(), 1u);
  EXPECT_NE(probe.err.find("saved to " + kept()[0].string()), std::string::npos) << probe.err;
  EXPECT_NE(run({"info"}).out.find("roofs quickly measured"), std::string::npos);
  EXPECT_FALSE(json::parse(run({"info", "--json"}).out)["devices"][0]["probed"].is_null());

  const std::string model = folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::qwen2)).bytes());
  const Outcome bench = run({"bench", model, "--device", "cpu", "-p", "8", "-n", "4", "-r", "2", "--json"});
  EXPECT_NE(bench.err.find("measured"), std::string::npos) << bench.err;
  for (const json& row : json::parse(bench.out)["rows"]) {
    EXPECT_GT(row["floor_s"], 0);
    EXPECT_GT(row["fraction"], 0);
  }
  const json trace = json::parse(run({"trace", model, "--device", "cpu", "-r", "2", "--json"}).out);
  EXPECT_GT(trace["step"]["floor_s"], 0);
  for (const json& op : trace["ops"]) EXPECT_FALSE(op["floor_s"].is_null()) << op["name"];

  std::ofstream(kept()[0]) << "{ broken";
  const Outcome broken = run({"bench", model, "--device", "cpu", "-p", "8", "-n", "0", "-r", "1"});
  EXPECT_EQ(broken.status, 0);
  EXPECT_NE(broken.err.find("no floors: "), std::string::npos) << broken.err;
  EXPECT_EQ(std::count(broken.err.begin(), broken.err.end(), '\n'), 1) << broken.err;
}

TEST_F(ProbeVerb, OneProbeAloneIsNotKeptButByOut) {
  const std::string out = folder.path("part.json");
  const Outcome text = run({"probe", "--quick", "--device", "cpu", "--only", "overhead,math"});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const char* part : {"Overheads", "overhead.clock", "Arithmetic", "math.fp32.simd", "GHz", "samples"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << text.out;
  }
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(run({"probe", "--quick", "--device", "cpu", "--only", "overhead", "--out", out}).status, 0);
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(run({"probe", "--compare", out, out}).status, 0);
}

TEST_F(ProbeVerb, ComparesTwoFiles) {
  const std::string a = file("A", 100, 1, 2e-9), b = file("B", 120, 1, 2.5e-9);
  const Outcome text = run({"probe", "--compare", a, b});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const char* part : {"+20.0%  faster", "+25.0%  slower", "2 figures in both: 0 same, 1 faster, 1 slower, 0 unclear."}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << '\n' << text.out;
  }
  EXPECT_EQ(json::parse(run({"probe", "--compare", a, b, "--json"}).out)["summary"]["slower"], 1);
}

TEST_F(ProbeVerb, BadFilesAndNamesAreRefused) {
  const std::string a = file("A", 100, 1, 2e-9), foreign = folder.write("foreign.json", "{\n  \"schema\": 3,");
  const auto refused = [&](std::vector<std::string> arguments, const char* part) {
    const Outcome outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << '\n' << outcome.err;
  };
  refused({"probe", "--compare", a, folder.path("none.json")}, "none.json");
  refused({"probe", "--compare", foreign, a}, "foreign.json: line 2, column");
  refused({"probe", "--compare", a}, "not probed yet");
  refused({"probe", "--compare", a, a, a}, "--help");
  refused({"probe", "--only", "dream", "--device", "cpu"}, "'dream'");
  refused({"probe", "--device", "tpu"}, "tpu");
}

TEST_F(ProbeVerb, RunWithStatsTracesAStepAfterTheText) {
  const Outcome text = run({"run", "--random-weights", "smollm2-135m", "--device", "cpu", "-p", "ab", "-n", "2", "--stats"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("ab<")) << text.out;
  EXPECT_EQ(text.out.find("ffn_down"), std::string::npos);
  for (const char* part : {"not probed", "ffn_down", "% of roof", "the step as a whole"}) {
    EXPECT_NE(text.err.find(part), std::string::npos) << part << '\n' << text.err;
  }
}

}  // namespace
}  // namespace rafter
