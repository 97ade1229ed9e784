#include "rafter/base/error.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

TEST(Error, NamesThingValueExpectationAndRemedy) {
  const Error error = input_error({"the context (-c)", "0", "1 to 4096", "leave it out for the model's own"});
  EXPECT_STREQ(error.what(), "the context (-c) is 0; expected 1 to 4096. Leave it out for the model's own.");
  EXPECT_EQ(error.exit_status(), 2);
  EXPECT_EQ(runtime_failure({"a launch", "refused"}).exit_status(), 1);
}

TEST(Error, PrintableKeepsTextAndEscapesTheRest) {
  EXPECT_EQ(printable("naïve 日本"), "naïve 日本");
  EXPECT_EQ(printable(std::string_view("a\0\n\x7f", 4)), "a\\x00\\x0a\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable(std::string(1000, 'a'), 10), "aaaaaaaaaa...");
}

}  // namespace
}  // namespace rafter
