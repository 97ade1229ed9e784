// Usage that is refused in the program's own words, and options that would have no effect: none is taken in silence.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/command.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using test::Outcome;

class Usage : public testing::Test {
 protected:
  Usage() : model(folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::llama)).bytes())) {}

  void refused(const std::vector<std::string>& arguments, const std::string& line) {
    const Outcome outcome = test::rafter(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(line), std::string::npos) << line << '\n' << outcome.err;
  }
  test::TempFolder folder;
  std::string model;
};

TEST_F(Usage, TooManyAndTooFewValues) {
  refused({"run", model, "-p", "x", "-n", "3", "-n", "abc"}, "rafter: -n is given twice; expected -n N once.");
  refused({"run", "-m", model, "-m", model, "-p", "x"}, "rafter: -m is given twice; expected -m MODEL once.");
  refused({"run", model, "-p", "x", "-p", "y", "--prompt", "z"}, "rafter: -p is given 3 times; expected -p TEXT once.");
  refused({"run", model, "-p", "x", "--temp"}, "rafter: --temp is given without a value; expected --temp X.");
  refused({"run", model, "-p", "x", "--stop"}, "rafter: --stop is given without a value; expected --stop TEXT.");
  refused({"probe", "--compare"}, "rafter: --compare is given without a value; expected --compare A [B].");
  refused({"probe", "--compare", "a", "b", "c"}, "rafter: --compare is given 3 values; expected --compare A [B].");
  refused({"roofline"}, "rafter: the profile is not given; expected FILE.");
}

TEST_F(Usage, EmptyWords) {
  refused({"run", "-m", "", "-p", "x"}, "-m is empty");
  for (const char* flag : {"--device", "--executor", "--dtype", "--random-weights", "--chat-template", "-f"}) {
    refused({"run", model, "-p", "x", flag, ""}, std::string(flag) + " is empty");
  }
  refused({"bench", model, "--out", ""}, "--out is empty");
  refused({"bench", model, "-o", ""}, "-o is empty");
}

TEST_F(Usage, BoundsAreNamedWhereTheyAreMet) {
  refused({"run", model, "-p", "x", "--top-k", "99999999999999999999"}, "0 to 9223372036854775807");
  refused({"run", model, "-p", "x", "-s", "18446744073709551615"}, "-1 to 9223372036854775807");
  refused({"run", model, "-p", "x", "-n", "999999999999999999999"}, "-1 to 9223372036854775807");
  refused({"run", model, "-p", "x", "-n", "abc"}, "a whole number of -1 or more");
  refused({"run", model, "-p", "x", "--temp", "inf"}, "--temp is 'inf'; expected a finite number");
  refused({"run", model, "-p", "x", "--top-p", "nan"}, "--top-p is 'nan'; expected a finite number");
}

TEST_F(Usage, TwoDashesEndTheOptions) {
  const Outcome benched = test::rafter({"bench", "--", model, "-p", "4", "-n", "0", "-r", "1", "--device", "cpu"});
  EXPECT_EQ(benched.status, 0) << benched.err;
  refused({"run", model, "--", "-p", "x"}, "rafter: the option '-p' is not known");
}

TEST_F(Usage, OptionsWithoutEffect) {
  refused({"trace", model, "--prefill", "7", "-b", "3"}, "-b is 3; expected 1 with --prefill");
  refused({"trace", model, "--prefill", "100", "--chunk", "10"}, "--chunk is 10; expected 100 or more");
  refused({"bench", model, "-o", "csv", "--json"}, "-o is 'csv', with --json; expected one of the two");
  refused({"bench", model, "-n", "0", "-b", "4"}, "-b is 4; expected 1");
  for (const char* flag : {"--specials", "--chat"}) {
    refused({"tokenize", model, "--decode", "1", flag}, std::string(flag) + " is given together with --decode");
  }
  refused({"tokenize", model, "hi", "--decode", "1"}, "--decode is given together with TEXT");
  refused({"tokenize", model, "--decode", "1", "-p", "hi"}, "--decode is given together with -p");
  refused({"tokenize", model, "hi", "-p", "ho"}, "-p is given together with TEXT");
  refused({"tokenize", model, "hi", "--chat", "--specials"}, "--specials is given together with a chat");
  refused({"run", model, "-p", "hi", "--chat", "--specials"}, "--specials is given together with a chat");
  refused({"probe", "--list", "--only", "math"}, "--only is given together with --list");
  refused({"probe", "--compare", "a", "b", "--quick"}, "--quick is given together with --compare");
  refused({"roofline", "a", "--json", "--top", "3"}, "--top is given together with --json");
  // An empty system message is one: the prompt is a chat's, which this model cannot have.
  const Outcome outcome = test::rafter({"run", "--random-weights", "smollm2-135m", "-p", "hi", "--system", ""});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("the tokenizer is missing"), std::string::npos) << outcome.err;
}

TEST_F(Usage, ATracesErrorNamesTheOptionAtFaultAndTheLimit) {
  refused({"trace", model, "--device", "cpu", "--prefill", "500"}, "--prefill is 500; expected at most 128");
  refused({"trace", model, "--device", "cpu", "--prefill", "100", "-d", "60"}, "-d is 60; expected at most 28");
  refused({"trace", model, "--device", "cpu", "-d", "128"}, "-d is 128; expected at most 127");
  const Outcome last = test::rafter({"trace", model, "--device", "cpu", "-d", "127", "-r", "1"});
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(last.out.find("IQR"), std::string::npos) << last.out;
  EXPECT_NE(last.out.find("1 step, "), std::string::npos) << last.out;
}

}  // namespace
}  // namespace rafter
