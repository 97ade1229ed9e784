// The verbs that speak text, with a real model on the CPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace rafter {
namespace {

using nlohmann::json;
using test::Outcome;

const std::string kPrompt = "The sea is";

class Smollm2 : public testing::Test {
 protected:
  void SetUp() override { RAFTER_NEEDS_SMOLLM2(); }

  Outcome run(std::vector<std::string> arguments, const test::CommandOptions& options = {}) {
    const bool runs = arguments[0] != "tokenize";
    arguments.insert(arguments.begin() + 1, test::smollm2());
    if (runs) arguments.insert(arguments.begin() + 2, {"--device", "cpu"});
    return test::rafter(arguments, options);
  }
  json run_json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out);
  }
};

TEST_F(Smollm2, TextOnOneStreamAndSpeedsOnTheOther) {
  const Outcome outcome = run({"run", "-p", kPrompt, "-n", "12"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with(kPrompt)) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with('\n'));
  for (const char* part : {"load ", "prefill 3 tokens", "decode 11 tokens", "t/s", "ended by -n 12"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << '\n' << outcome.err;
  }
  const json document = run_json({"run", "-p", kPrompt, "-n", "12"});
  EXPECT_EQ(document["schema"], "rafter.run/1");
  EXPECT_EQ(kPrompt + document["text"].get<std::string>() + "\n", outcome.out);
  EXPECT_EQ(document["tokens"].size(), 12u);
  EXPECT_EQ(document["end"], "max_tokens");
  EXPECT_EQ(document["stats"]["prompt_tokens"], 3);
  EXPECT_EQ(run({"run", "-p", kPrompt, "-n", "12", "--no-display-prompt"}).out, document["text"].get<std::string>() + "\n");
}

TEST_F(Smollm2, ThePromptMayComeFromStandardInput) {
  EXPECT_EQ(run({"run", "-f", "-", "-n", "6"}, {.input = kPrompt + "\n"}).out, run({"run", "-p", kPrompt, "-n", "6"}).out);
}

TEST_F(Smollm2, SameSeedSameText) {
  const auto text = [&](const char* seed) {
    return run_json({"run", "-p", kPrompt, "-n", "16", "--temp", "1.5", "--top-p", "1", "-s", seed})["text"].get<std::string>();
  };
  EXPECT_EQ(text("5"), text("5"));
  EXPECT_NE(text("5"), text("6"));
}

TEST_F(Smollm2, StopStringsAndTheContextEndTheText) {
  const std::string text = run_json({"run", "-p", kPrompt, "-n", "16"})["text"];
  const std::string stop = text.substr(text.size() / 2, 5);
  const json stopped = run_json({"run", "-p", kPrompt, "-n", "16", "--stop", "never", "--stop", stop});
  EXPECT_EQ(stopped["end"], "stop_string");
  EXPECT_EQ(stopped["text"], text.substr(0, text.find(stop)));
  const Outcome full = run({"run", "-p", kPrompt, "-c", "10"});
  EXPECT_EQ(full.status, 0);
  EXPECT_NE(full.err.find("context of 10 tokens is full; -c makes it larger, up to 8192"), std::string::npos) << full.err;
}

TEST_F(Smollm2, AChatPromptIsFramedAndEndsByItself) {
  const json document = run_json({"run", "-p", "Hi", "--chat", "-n", "60"});
  EXPECT_EQ(document["end"], "stop_token");
  EXPECT_GT(document["stats"]["prompt_tokens"], 10);
  EXPECT_EQ(document["text"].get<std::string>().find("<|im_end|>"), std::string::npos);
}

TEST_F(Smollm2, TokensAndBack) {
  const json document = run_json({"tokenize", "Hello, \xe4<|im_end|> \xf0\x9f\x98\x80"});
  EXPECT_EQ(document["schema"], "rafter.tokenize/1");
  std::string ids;
  for (const json& token : document["tokens"]) {
    EXPECT_FALSE(token["special"]);
    ids += (ids.empty() ? "" : ",") + std::to_string(token["id"].get<int>());
  }
  EXPECT_EQ(run({"tokenize", "--decode", ids}).out, "Hello, \xe4<|im_end|> \xf0\x9f\x98\x80\n");
  const json special = run_json({"tokenize", "-p", "<|im_end|>", "--specials"});
  ASSERT_EQ(special["tokens"].size(), 1u);
  EXPECT_TRUE(special["tokens"][0]["special"]);
  const Outcome table = run({"tokenize", "Hello, world"});
  EXPECT_NE(table.out.find("' world'"), std::string::npos) << table.out;
  EXPECT_GT(run_json({"tokenize", "Hi", "--chat"})["tokens"].size(), 10u);
}

TEST_F(Smollm2, AConversationKeepsItsCacheAndObeysItsCommands) {
  const Outcome outcome = run({"chat", "-n", "8"}, {.input = "Hi\nAnd again\n/reset\nHi\n/help\n/what\n/exit\nnever read\n"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> lines;
  std::stringstream text(outcome.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_GE(lines.size(), 3u) << outcome.out;
  EXPECT_EQ(lines.front(), lines.back());  // after /reset the first question has its first answer
  EXPECT_NE(outcome.err.find("'/what' is no command"), std::string::npos) << outcome.err;
  // The second turn reads its own message and the end of the last answer, not the whole conversation.
  const size_t second = outcome.err.find("prefill ", outcome.err.find("prefill ") + 1);
  EXPECT_LT(std::stoi(outcome.err.substr(second + 8)), 20) << outcome.err;
}

TEST_F(Smollm2, AConversationSaysWhenTheContextIsFull) {
  const Outcome full = run({"chat", "-c", "48"}, {.input = "Tell me a long story about the sea.\n"});
  EXPECT_EQ(full.status, 0) << full.err;
  EXPECT_NE(full.err.find("context of 48 tokens is full"), std::string::npos) << full.err;
  const Outcome over = run({"chat", "-c", "40", "-n", "4"}, {.input = "Hi\nHi\nHi\nHi\nHi\n"});
  EXPECT_EQ(over.status, 2);
  EXPECT_NE(over.err.find("context of 40"), std::string::npos) << over.err;
}

TEST_F(Smollm2, CtrlCEndsTheTextAndStillTellsTheSpeed) {
  const Outcome outcome = run({"run", "-p", kPrompt, "--ignore-eos", "-c", "8192"}, {.interrupt_after_ms = 2500});
  EXPECT_EQ(outcome.status, 130);
  EXPECT_TRUE(outcome.out.starts_with(kPrompt)) << outcome.out;
  EXPECT_NE(outcome.err.find("cancelled"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace rafter
