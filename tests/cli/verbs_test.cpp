// What the verbs print, on a tiny model and on random weights: the forms, the streams and the exit statuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/command.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using nlohmann::json;
using test::Outcome;

json parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << outcome.out;
  return document;
}

class Verbs : public testing::Test {
 protected:
  Verbs() : model(folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::qwen2)).bytes())) {}
  test::TempFolder folder;
  std::string model;
};

TEST_F(Verbs, NoVerbAndHelpPrintHelp) {
  const Outcome alone = test::rafter({});
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_EQ(alone.out, test::rafter({"--help"}).out);
  for (const char* verb : {"info", "run", "chat", "bench", "trace", "probe", "roofline", "tokenize"}) {
    EXPECT_NE(alone.out.find(verb), std::string::npos) << verb;
    const Outcome help = test::rafter({verb, "--help"});
    EXPECT_EQ(help.status, 0) << verb;
    EXPECT_NE(help.out.find("Examples:\n  rafter "), std::string::npos) << help.out;
  }
}

TEST_F(Verbs, Version) {
  const Outcome outcome = test::rafter({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.out.starts_with("rafter 0.")) << outcome.out;
}

TEST_F(Verbs, InfoNamesTheCpuAndWhatItTakesWithoutDevice) {
  const Outcome text = test::rafter({"info"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("Without --device: "), std::string::npos) << text.out;
  const json document = parsed(test::rafter({"info", "--json"}));
  EXPECT_EQ(document["schema"], "rafter.info/1");
  ASSERT_GE(document["devices"].size(), 1u);
  EXPECT_EQ(document["devices"][0]["device"], "cpu");
  EXPECT_EQ(document["devices"][0]["usable"], true);
  EXPECT_GT(document["devices"][0]["cores"], 0);
  EXPECT_EQ(document["why_no_cuda"].is_null(), document["devices"].size() > 1);
}

TEST_F(Verbs, BenchHasLlamaBenchsColumnsInThreeForms) {
  const std::vector<std::string> base = {"bench", model, "--device", "cpu", "-t",   "1",  "-p",
                                         "8,16",  "-n",  "4",        "-d",  "0,32", "-r", "2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return test::rafter(more);
  };
  const Outcome markdown = with({});
  EXPECT_EQ(markdown.status, 0) << markdown.err;
  EXPECT_EQ(markdown.err.find("rafter: "), std::string::npos) << markdown.err;
  EXPECT_TRUE(markdown.err.starts_with("not probed: run `rafter probe")) << markdown.err;
  for (const char* part : {"| model ", " size |", " params |", "| backend |", "| threads |", " test |", " t/s |",
                           " % of roof |", " pp8 |", " pp16 |", " tg4 |", " pp8 @ d32 |", " tg4 @ d32 |", " ± "}) {
    EXPECT_NE(markdown.out.find(part), std::string::npos) << part << '\n' << markdown.out;
  }
  const Outcome csv = with({"-o", "csv"});
  EXPECT_TRUE(csv.out.starts_with(
      "build_commit,backends,model_type,model_size,model_n_params,n_threads,executor,batch,test,n_prompt,n_gen,"
      "n_depth,avg_ns,stddev_ns,avg_ts,stddev_ts,fraction\n"))
      << csv.out;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 7);

  const json document = parsed(with({"--json"}));
  EXPECT_EQ(document["schema"], "rafter.results/1");
  EXPECT_TRUE(document["command"].get<std::string>().starts_with("rafter bench "));
  ASSERT_EQ(document["rows"].size(), 6u);
  for (const json& row : document["rows"]) {
    EXPECT_GT(row["median_s"], 0);
    EXPECT_GT(row["tokens_per_s"], 0);
    EXPECT_GT(row["bytes"], 0);
    EXPECT_EQ(row["samples"], 2);
    EXPECT_TRUE(row["floor_s"].is_null());
    EXPECT_TRUE(row["fraction"].is_null());
  }
  EXPECT_EQ(document["rows"][5]["op"], "decode_step");
  EXPECT_EQ(document["rows"][5]["context"], 32);
}

TEST_F(Verbs, BenchWritesToAFile) {
  const std::string file = folder.path("results.json");
  const Outcome outcome =
      test::rafter({"bench", "-m", model, "--device", "cpu", "-p", "4", "-n", "0", "-r", "1", "--json", "--out", file});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(json::parse(text.str())["rows"].size(), 1u);
}

TEST_F(Verbs, TraceFoldsUnfoldsAndSpeaksJson) {
  const std::vector<std::string> base = {"trace", model, "--device", "cpu", "-r", "2", "-d", "5"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return test::rafter(more);
  };
  const Outcome folded = with({}), layers = with({"--layers"});
  EXPECT_EQ(folded.status, 0) << folded.err;
  for (const char* part : {"op ", "shape", "bytes", "FLOPs", "time", "GB/s", "share", "floor", "% of roof", "x2", "ffn_down",
                           "sum of the ops", "the step as a whole", "Step less sum", "tokens/s"}) {
    EXPECT_NE(folded.out.find(part), std::string::npos) << part << '\n' << folded.out;
  }
  EXPECT_GT(std::count(layers.out.begin(), layers.out.end(), '\n'), std::count(folded.out.begin(), folded.out.end(), '\n'));
  const json document = parsed(with({"--json"}));
  EXPECT_EQ(document["schema"], "rafter.trace/1");
  EXPECT_EQ(document["step"]["context"], 5);
  EXPECT_GT(document["ops"].size(), 10u);
  const json prefill = parsed(with({"--json", "--prefill", "20", "--no-fuse"}));
  EXPECT_EQ(prefill["step"]["kind"], "prefill");
  EXPECT_EQ(prefill["step"]["tokens"], 20);
}

TEST_F(Verbs, RandomWeightsSpeakTokenIds) {
  const Outcome outcome = test::rafter({"run", "--random-weights", "smollm2-135m", "--device", "cpu", "-p", "ab", "-n", "3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("ab<")) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '<'), 3) << outcome.out;
}

// More than any machine that runs tests has: 3.7 TB of cache. It is said before a weight is made.
TEST_F(Verbs, AModelThatDoesNotFitIsOneErrorBeforeItLoads) {
  const Outcome outcome = test::rafter(
      {"bench", "--random-weights", "llama-3.1-8b", "--device", "cpu", "-b", "256", "-p", "0", "-n", "1", "-d", "110000"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const char* part : {"the memory for 'Llama 3.1 8B'", "weights 15.0 GiB", "256 x 110001 tokens", " GiB of "})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << '\n' << outcome.err;
}

TEST_F(Verbs, TensorsThatAreNotUsedAreOneNote) {
  test::GgufWriter writer = test::tiny_gguf(test::tiny_config(Architecture::qwen2));
  for (const char* name : {"outputs.weight", "vision.norm"}) writer.add(name, DType::f32, {32}, test::random_f32(1, 32));
  const Outcome outcome =
      test::rafter({"bench", folder.write("more.gguf", writer.bytes()), "--device", "cpu", "-p", "1", "-n", "0", "-r", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("2 tensors of ")) << outcome.err;
  EXPECT_NE(outcome.err.find("'outputs.weight', ..."), std::string::npos) << outcome.err;
}

TEST_F(Verbs, TheLimitOfAddressSpaceIsNamedWhereItRefuses) {
  if (test::kSanitized) GTEST_SKIP() << "the address sanitizer maps terabytes of its own";
  const Outcome outcome = test::rafter({"run", "--random-weights", "smollm2-135m", "--device", "cpu", "-t", "1", "-p", "x"},
                                       {.address_space = 200'000 * 1024});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const char* part : {"the memory for 'SmolLM2 135M'", "195 MiB of address space that `ulimit -v` allows"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << '\n' << outcome.err;
}

// The run would last for minutes; the file shrinks under it.
TEST_F(Verbs, AModelFileThatIsCutShortDuringARunIsOneError) {
  std::thread cutting([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::filesystem::resize_file(model, 0);
  });
  const Outcome outcome = test::rafter({"bench", model, "--device", "cpu", "-t", "1", "-p", "0", "-n", "100", "-r", "100000"});
  cutting.join();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("rafter: the model file changed while it was in use"), std::string::npos) << outcome.err;
}

TEST_F(Verbs, APromptIsReadFromAPipe) {
  const Outcome outcome = test::rafter(
      {"run", "--random-weights", "smollm2-135m", "--device", "cpu", "-f", "/dev/stdin", "-n", "1"}, {.input = "a pipe\n"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("a pipe<")) << outcome.out;
}

TEST_F(Verbs, AFullDiskIsAFailureAndAClosedPipeIsNot) {
  const Outcome full = test::rafter({"--version"}, {.out_file = "/dev/full"});
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("standard output"), std::string::npos) << full.err;
}

}  // namespace
}  // namespace rafter
