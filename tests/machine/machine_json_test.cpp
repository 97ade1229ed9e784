// Machine files: the round trip, the schema against a committed file, and everything that can be wrong with one.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "rafter/machine/machine.h"
#include "tests/support/errors.h"

namespace rafter {
namespace {

// What tests/machine/data/machine.json holds.
Machine small_machine() {
  Machine m;
  m.device.id = {DeviceKind::cuda, 0};
  m.device.name = "Test GPU";
  m.device.uuid_hash = "0123456789abcdef";
  m.device.driver = "13.0";
  m.device.compute_major = 9;
  m.device.multiprocessors = 132;
  m.device.memory_bytes = int64_t{1} << 37;
  m.device.l2_bytes = 50 << 20;
  m.device.clock_hz = 1.98e9;
  m.driver = "580.65.06";
  m.commit = "c0ffee";
  m.date = "2026-01-31T12:00:00Z";
  m.command = "rafter probe";
  m.probe_seconds = 90.5;
  m.figures.push_back({"dram.read", {{"bytes", 1 << 20}}, "cold", "B/s", {3e12, 1.5e10, 12, 3, 1.7e9, Series::noisy}, "odd"});
  m.figures.push_back({"latency.l1", {}, "", "s", {2e-8, 0, 10, 0, 0, Series::steady}, ""});
  return m;
}

std::string committed() {
  std::ostringstream text;
  text << std::ifstream(RAFTER_SOURCE_DIR "/tests/machine/data/machine.json").rdbuf();
  return text.str();
}

TEST(MachineJson, IsWhatTheCommittedFileIs) { EXPECT_EQ(machine_json(small_machine()), committed()); }

TEST(MachineJson, ComesBackAsItWas) {
  const Machine m = read_machine(committed(), "machine.json");
  EXPECT_EQ(machine_json(m), committed());
  EXPECT_EQ(m.device.id.kind, DeviceKind::cuda);
  EXPECT_EQ(m.device.compute_major, 9);
  EXPECT_EQ(m.device.multiprocessors, 132);
  ASSERT_EQ(m.figures.size(), 2u);
  EXPECT_EQ(m.figures[0].key(), "dram.read[bytes=1048576] cold");
  EXPECT_EQ(m.figures[0].value.series, Series::noisy);
  EXPECT_EQ(m.figures[0].value.throttled, 3);
  EXPECT_EQ(m.figures[0].remark, "odd");
  EXPECT_FALSE(m.quick);
}

TEST(MachineJson, NeverHoldsNaNOrInfinity) {
  Machine m = small_machine();
  m.probe_seconds = std::numeric_limits<double>::infinity();
  m.figures[0].value.median = std::numeric_limits<double>::quiet_NaN();
  m.figures[0].value.iqr = -std::numeric_limits<double>::infinity();
  m.figures[0].at[0].second = std::numeric_limits<double>::quiet_NaN();
  const std::string text = machine_json(m);
  for (const char* bad : {"nan", "NaN", "inf", "Inf"}) EXPECT_EQ(text.find(bad), std::string::npos) << text;
  EXPECT_NE(text.find("\"median\": null"), std::string::npos);
}

// The committed file with one text in place of another.
std::string with(const std::string& from, const std::string& to) {
  std::string text = committed();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_bad(const std::string& text, std::initializer_list<std::string_view> parts) {
  test::expect_input_error([&] { read_machine(text, "m.json"); }, parts);
}

TEST(MachineJson, ATextThatIsNoJsonIsNamedByLineAndColumn) {
  expect_bad("", {"m.json: line 1, column 1", "not JSON"});
  expect_bad("{\n  \"schema\": oops\n}", {"m.json: line 2, column 1", "not JSON", "rafter probe"});
  expect_bad("{\n}}", {"line 2, column 2"});
  expect_bad(committed().substr(0, 200), {"m.json: line ", "not JSON", "rafter.machine/1"});
  expect_bad("GGUF\x03", {"line 1, column 1"});
  expect_bad(with("3000000000000.0", "NaN"), {"not JSON"});
  expect_bad(with("3000000000000.0", "1e999"), {"m.json", "too large"});
}

TEST(MachineJson, EveryCutIsAnError) {
  const std::string whole = committed();
  for (size_t length = 0; length + 2 < whole.size(); length += 7) {
    EXPECT_THROW(read_machine(whole.substr(0, length), "m.json"), Error) << length;
  }
}

TEST(MachineJson, AnotherSchemaIsNamed) {
  expect_bad(with("rafter.machine/1", "rafter.results/1"), {"m.json.schema", "'rafter.results/1'", "'rafter.machine/1'"});
  expect_bad("{}", {"m.json.schema is missing"});
  expect_bad("[]", {"m.json is array", "an object"});
  expect_bad("3", {"an object"});
}

TEST(MachineJson, MissingAndWrongFieldsAreNamedWithTheirPath) {
  expect_bad(R"({"schema": "rafter.machine/1"})", {"m.json.machine is missing"});
  expect_bad(R"({"schema": "rafter.machine/1", "machine": {"device": "cpu"}})", {"m.json.figures is missing", "an array"});
  expect_bad(with("\"device\": \"cuda\"", "\"device\": \"tpu\""), {"m.json.machine.device", "'tpu'", "'cpu' or 'cuda'"});
  expect_bad(with("\"name\": \"dram.read\"", "\"name\": null"), {"m.json.figures[0].name", "missing"});
  expect_bad(with("\"median\": 2e-08", "\"median\": \"fast\""), {"m.json.figures[1].median", "string", "a number or null"});
  expect_bad(with("\"median\": 2e-08,", ""), {"m.json.figures[1].median is missing"});
  expect_bad(with("\"samples\": 12", "\"samples\": 1.5"), {"m.json.figures[0].samples", "1.5", "whole number"});
  expect_bad(with("\"samples\": 12", "\"samples\": -1"), {"figures[0].samples"});
  expect_bad(with("\"bytes\": 1048576.0", "\"bytes\": \"1M\""), {"m.json.figures[0].at.bytes", "a number"});
  expect_bad(with("\"quick\": false", "\"quick\": 0"), {"m.json.quick", "true, false or null"});
  expect_bad(with("\"unit\": \"B/s\"", "\"unit\": 7"), {"m.json.figures[0].unit", "a string or null"});
}

TEST(MachineJson, AFigureThatIsNoObjectIsNamed) {
  expect_bad(R"({"schema": "rafter.machine/1", "machine": {"device": "cpu"}, "figures": [3]})",
             {"m.json.figures[0] is number"});
}

TEST(MachineJson, DeepNestingIsRefusedEarly) {
  expect_bad(std::string(1 << 20, '['), {"m.json", "nested too deep"});
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  expect_bad(objects, {"nested too deep"});
}

TEST(MachineJson, UnknownFieldsOfALaterVersionAreLeftAlone) {
  EXPECT_EQ(read_machine(with("\"quick\": false", "\"later\": {\"x\": 1}, \"quick\": false"), "m.json").figures.size(), 2u);
}

}  // namespace
}  // namespace rafter
