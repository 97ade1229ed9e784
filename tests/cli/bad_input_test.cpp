// Bad usage and bad input: one line on standard error that names the thing, exit status 2, nothing on standard output.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/command.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using test::Outcome;

// Expects the one line, and every part in it.
void expect_refused(const std::vector<std::string>& arguments, std::initializer_list<std::string_view> parts) {
  std::string line = "rafter";
  for (const std::string& argument : arguments) line += " " + argument;
  const Outcome outcome = test::rafter(arguments);
  EXPECT_EQ(outcome.status, 2) << line << '\n' << outcome.err;
  EXPECT_EQ(outcome.out, "") << line;
  EXPECT_TRUE(outcome.err.starts_with("rafter: ")) << line << '\n' << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << line << '\n' << outcome.err;
  for (const std::string_view part : parts) EXPECT_NE(outcome.err.find(part), std::string::npos) << line << '\n' << outcome.err;
}

// A tiny model without a tokenizer, which is enough for whatever is refused before text is spoken.
class BadInput : public testing::Test {
 protected:
  BadInput() : model(folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::llama)).bytes())) {}
  test::TempFolder folder;
  std::string model;
};

TEST_F(BadInput, Usage) {
  expect_refused({"frobnicate"}, {"the verb 'frobnicate'", "--help"});
  expect_refused({"--frobnicate"}, {"the option '--frobnicate'"});
  expect_refused({"run", model, "-p", "x", "--frobnicate"}, {"the option '--frobnicate'", "rafter run --help"});
  expect_refused({"run", model, "another", "-p", "x"}, {"'another'", "one too many"});
  expect_refused({"run", model, "-p"}, {"-p"});
  expect_refused({"run", "-p", "x"}, {"the model is not given"});
  expect_refused({"run", model}, {"the prompt is not given"});
  expect_refused({"run", model, "-p", "x", "-f", "y"}, {"-p", "-f"});
  expect_refused({"run", model, "--random-weights", "smollm2-135m", "-p", "x"},
                 {"tiny.gguf", "--random-weights", "one of the two"});
  expect_refused({"run", model, "--dtype", "f32", "-p", "x"}, {"--dtype", "--random-weights"});
}

TEST_F(BadInput, Numbers) {
  const auto refused = [&](const std::string& flag, const std::string& value) {
    expect_refused({"run", model, "-p", "x", flag, value}, {flag});
  };
  for (const char* value : {"0", "-0.5", "1.5", "nan", "inf", "abc", ""}) refused("--top-p", value);
  for (const char* value : {"-1", "nan", "inf", "-inf", "hot", "0.5x", " 1"}) refused("--temp", value);
  for (const char* value : {"-0.1", "2", "nan"}) refused("--min-p", value);
  for (const char* value : {"0", "-1", "nan"}) refused("--repeat-penalty", value);
  for (const char* value : {"-1", "1.5", "99999999999999999999"}) refused("--top-k", value);
  for (const char* value : {"-2", "x"}) refused("--repeat-last-n", value);
  for (const char* value : {"-2", "", "1e3", "99999999999999999999"}) refused("-n", value);
  for (const char* value : {"-1", "x", "99999999999999999999"}) refused("-c", value);
  for (const char* value : {"0", "-1", "100000000"}) refused("-t", value);
  for (const char* value : {"-2", "seed"}) refused("-s", value);
  for (const char* value : {"0", "-1", "100000"}) refused("--chunk", value);
}

TEST_F(BadInput, AContextBeyondTheModels) {
  expect_refused({"run", "--random-weights", "smollm2-135m", "-p", "x", "-c", "8193"}, {"-c", "8193", "8192"});
}

TEST_F(BadInput, Words) {
  expect_refused({"run", model, "-p", "x", "--device", "tpu"}, {"'tpu'", "cpu, cuda"});
  expect_refused({"run", model, "-p", "x", "--device", "cuda:x"}, {"'cuda:x'"});
  expect_refused({"run", model, "-p", "x", "--device", "cuda:99"}, {"cuda:99"});
  expect_refused({"run", model, "-p", "x", "--executor", "magic"}, {"--executor", "'magic'", "eager or graph"});
  expect_refused({"run", model, "-p", "x", "--device", "cpu", "--executor", "graph"}, {"--executor", "CPU"});
  expect_refused({"run", model, "-p", "x", "--stop", ""}, {"--stop"});
  expect_refused({"run", "--random-weights", "gpt-5", "-p", "x"}, {"'gpt-5'", "qwen2.5-0.5b"});
  expect_refused({"run", "--random-weights", "smollm2-135m", "--dtype", "q4_1", "-p", "x"}, {"--dtype", "'q4_1'"});
  expect_refused({"run", "--random-weights", "smollm2-135m", "-p", ""}, {"the prompt is empty"});
  expect_refused({"run", "--random-weights", "smollm2-135m", "-p", "x", "--chat"}, {"chat"});
}

TEST_F(BadInput, Files) {
  expect_refused({"run", folder.path("none.gguf"), "-p", "x"}, {"none.gguf"});
  expect_refused({"run", folder.path(), "-p", "x"}, {folder.path()});
  expect_refused({"run", folder.write("page.gguf", "<!DOCTYPE html><html></html>"), "-p", "x"}, {"page.gguf", "HTML"});
  expect_refused(
      {"run", folder.write("lfs.gguf", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"), "-p", "x"},
      {"lfs.gguf", "LFS"});
  expect_refused({"run", folder.write("empty.gguf", ""), "-p", "x"}, {"empty.gguf"});
  expect_refused({"run", folder.write("magic.gguf", "GGML, not GGUF, and long enough"), "-p", "x"}, {"magic.gguf"});
  expect_refused({"run", folder.write("text.bin", "anything"), "-p", "x"}, {"text.bin"});
  expect_refused({"run", model, "-f", folder.path("none.txt")}, {"none.txt"});
  expect_refused({"run", model, "-f", folder.path()}, {folder.path()});
  expect_refused({"run", model, "-p", "x"}, {"tokenizer"});
  expect_refused({"tokenize", model, "-p", "x"}, {"tokenizer"});
  expect_refused({"tokenize", folder.path("none"), "x"}, {"none"});
  expect_refused({"tokenize", folder.path(), "x"}, {folder.path()});
  const auto bytes = test::tiny_gguf(test::tiny_config(Architecture::llama)).bytes();
  for (const size_t size : {bytes.size() - 1, bytes.size() / 2, size_t{100}, size_t{5}}) {
    expect_refused({"trace", folder.write("cut.gguf", std::span(bytes).first(size)), "--device", "cpu"}, {"cut.gguf"});
  }
}

// Named pipes that nobody writes to, wherever a file of the model may lie: an error at once, where waiting would be for ever.
TEST_F(BadInput, NamedPipes) {
  const auto pipe = [&](const std::string& name) {
    const std::string path = folder.path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0) << path;
    return path;
  };
  const std::string config = test::tiny_config_json(test::tiny_config(Architecture::llama));
  expect_refused({"run", pipe("pipe.gguf"), "-p", "x"}, {"pipe.gguf", "not a regular file"});
  expect_refused({"run", pipe("pipe"), "-p", "x"}, {"pipe", "not a regular file"});
  folder.write("weights/config.json", config);
  pipe("weights/model.safetensors");
  expect_refused({"run", folder.path("weights"), "-p", "x"}, {"model.safetensors", "not a regular file"});
  expect_refused({"run", folder.path("weights/model.safetensors"), "-p", "x"}, {"model.safetensors", "not a regular file"});
  pipe("configs/config.json");
  expect_refused({"run", folder.path("configs"), "-p", "x"}, {"config.json", "not a regular file"});
  folder.write("index/config.json", config);
  pipe("index/model.safetensors.index.json");
  expect_refused({"run", folder.path("index"), "-p", "x"}, {"index.json", "not a regular file"});
  pipe("text/tokenizer.json");
  expect_refused({"tokenize", folder.path("text"), "-p", "x"}, {"tokenizer.json", "not a regular file"});
  const Outcome profile = test::rafter({"roofline", pipe("profile.csv")});  // which has a note on the machine as well
  EXPECT_EQ(profile.status, 2);
  EXPECT_NE(profile.err.find("profile.csv' is not a regular file"), std::string::npos) << profile.err;
}

TEST_F(BadInput, AStreamWithoutAnEndIsBounded) {
  expect_refused({"run", model, "-f", "/dev/zero"}, {"'/dev/zero'", "longer than 64.0 MiB", "67108864 bytes"});
}

TEST_F(BadInput, APromptLongerThanTheContext) {
  expect_refused({"run", "--random-weights", "smollm2-135m", "--device", "cpu", "-c", "8", "-p", "nine char"},
                 {"the prompt is 9 tokens long", "context of 8", "-c"});
}

TEST_F(BadInput, Bench) {
  expect_refused({"bench", model, "-p", "0", "-n", "0"}, {"number of tests"});
  for (const char* list : {"1,", ",1", "1,x", "-1", ""}) expect_refused({"bench", model, "-p", list}, {"-p"});
  expect_refused({"bench", model, "-p", "129"}, {"pp129", "128"});
  expect_refused({"bench", model, "-n", "20", "-p", "0", "-d", "120"}, {"tg20 @ d120"});
  expect_refused({"bench", model, "-o", "xml"}, {"-o", "'xml'"});
  expect_refused({"bench", model, "-r", "0"}, {"-r"});
  expect_refused({"bench", model, "-b", "1000"}, {"-b"});
  expect_refused({"bench", model, "--device", "cpu", "-p", "1", "-n", "0", "-r", "1", "--out", folder.path("no/such/folder")},
                 {"no/such/folder"});
}

TEST_F(BadInput, Trace) {
  expect_refused({"trace"}, {"the model is not given"});
  expect_refused({"trace", model, "-d", "128"}, {"128"});
  expect_refused({"trace", model, "--prefill", "0"}, {"--prefill"});
  expect_refused({"trace", model, "--prefill", "500"}, {"128"});
}

TEST(BadInputToSmollm2, TokensAndTemplates) {
  RAFTER_NEEDS_SMOLLM2();
  const std::string model = test::smollm2();
  expect_refused({"tokenize", model, "--decode", "49152"}, {"--decode", "'49152'"});
  expect_refused({"tokenize", model, "--decode", "-1"}, {"--decode"});
  expect_refused({"tokenize", model}, {"the prompt is not given"});
  expect_refused({"run", model, "-p", ""}, {"the prompt is empty"});
  expect_refused({"run", model, "-p", "x", "--chat-template", "mystery"}, {"'mystery'", "chatml"});
  expect_refused({"run", model, "-p", "one two three four five", "-c", "3", "--device", "cpu"},
                 {"5 tokens long", "context of 3"});
  expect_refused({"run", model, "-p", "x", "-c", "8193"}, {"-c", "8193", "8192"});
}

}  // namespace
}  // namespace rafter
