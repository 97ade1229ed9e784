// Looking values up in a JSON object: what is absent is told from what is of the wrong type.
#include "rafter/formats/json_object.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace rafter {
namespace {

using test::expect_input_error;

constexpr std::string_view kText = R"({"i": 3, "r": 2.5, "b": true, "t": "text", "n": null, "l": ["a", "b"], "mixed": ["a", 1],
  "o": {"i": 4, "deeper": {"r": "x"}}, "huge": 18446744073709551615})";

TEST(JsonObject, LooksUpValues) {
  const JsonObject json(kText, "config.json");
  EXPECT_EQ(json.integer("i"), 3);
  EXPECT_EQ(json.real("r"), 2.5);
  EXPECT_EQ(json.real("i"), 3.0);
  EXPECT_EQ(json.boolean("b"), true);
  EXPECT_EQ(json.text("t"), "text");
  EXPECT_EQ(json.texts("l"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(json.object("o")->integer("i"), 4);
  EXPECT_EQ(json.origin(), "'config.json'");
}

TEST(JsonObject, AbsentAndNullAreNothing) {
  const JsonObject json(kText, "config.json");
  for (const char* key : {"n", "nothing"}) {
    EXPECT_FALSE(json.has(key));
    EXPECT_FALSE(json.integer(key));
    EXPECT_FALSE(json.real(key));
    EXPECT_FALSE(json.boolean(key));
    EXPECT_FALSE(json.text(key));
    EXPECT_FALSE(json.object(key));
    EXPECT_TRUE(json.texts(key).empty());
  }
}

TEST(JsonObject, WrongTypesAreNamed) {
  const JsonObject json(kText, "config.json");
  expect_input_error([&] { json.integer("r"); }, {"'config.json': 'r' is 2.5; expected an integer"});
  expect_input_error([&] { json.integer("huge"); }, {"'huge' is 18446744073709551615; expected an integer"});
  expect_input_error([&] { json.real("t"); }, {"'t' is 'text'; expected a number"});
  expect_input_error([&] { json.boolean("i"); }, {"'i' is 3; expected true or false"});
  expect_input_error([&] { json.text("l"); }, {"'l' is a list; expected text"});
  expect_input_error([&] { json.texts("mixed"); }, {"'mixed' is 1; expected a list of text"});
  expect_input_error([&] { json.object("b"); }, {"'b' is true; expected an object"});
  expect_input_error([&] { json.object("o")->object("deeper")->real("r"); }, {"'o.deeper.r' is 'x'; expected a number"});
}

TEST(JsonObject, ObjectsOutliveTheOneTheyCameFrom) {
  auto json = std::make_unique<JsonObject>(kText, "config.json");
  const JsonObject inner = std::move(*json->object("o"));
  json.reset();
  EXPECT_EQ(inner.integer("i"), 4);
}

TEST(JsonObject, RefusesWhatIsNotAnObject) {
  expect_input_error([] { JsonObject("", "config.json"); }, {"'config.json'", "not readable as JSON"});
  expect_input_error([] { JsonObject("[1]", "config.json"); }, {"'config.json' is a list", "a JSON object"});
  expect_input_error([] { JsonObject("{\"a\":", "config.json"); }, {"not readable as JSON"});
  expect_input_error([] { JsonObject(std::string(5000, '['), "config.json"); }, {"not readable as JSON"});
}

}  // namespace
}  // namespace rafter
