// Numbers in every locale: each style alone, a file that mixes clear and unclear cells, and one in which none is clear.
#include "rafter/measure/profiles/locale_number.h"

#include <gtest/gtest.h>

#include "rafter/measure/profiles/metric_unit.h"

namespace rafter {
namespace {

NumberStyle style_of(std::initializer_list<std::string_view> cells) {
  NumberStyle style;
  for (const std::string_view cell : cells) style.see(cell);
  return style;
}

TEST(LocaleNumber, EachLocaleIsReadByItsClearCells) {
  const NumberStyle english = style_of({"1,234.5"});
  EXPECT_EQ(english.parse("1,234.5"), 1234.5);
  EXPECT_EQ(english.parse("1,234"), 1234.0);
  EXPECT_EQ(english.parse("1.234"), 1.234);
  const NumberStyle german = style_of({"1.234,5"});
  EXPECT_EQ(german.parse("1.234,5"), 1234.5);
  EXPECT_EQ(german.parse("1.234"), 1234.0);
  EXPECT_EQ(german.parse("1,234"), 1.234);
  const NumberStyle french =
      style_of({"1\xe2\x80\xaf"
                "234,5"});
  EXPECT_EQ(french.parse("1\xe2\x80\xaf"
                         "234,5"),
            1234.5);
  EXPECT_EQ(french.parse("1\xc2\xa0"
                         "234\xc2\xa0"
                         "567"),
            1234567.0);
  EXPECT_EQ(french.parse("1\xa0"
                         "234"),
            1234.0)
      << "a no-break space in Latin-1";
  EXPECT_EQ(style_of({"1'234.5"}).parse("1'234.5"), 1234.5);
  EXPECT_EQ(style_of({"12,34,567.8"}).parse("12,34,567.8"), 1234567.8) << "India";
}

TEST(LocaleNumber, CellsThatCanBeReadOneWayOnlyTell) {
  for (const std::string_view cell : {"12,5", "0,125", "1234,567", "1.234.567", "1,2345", "12 345,678", "3,"}) {
    const NumberStyle style = style_of({cell, "1,234"});
    if (cell == "3,") {
      EXPECT_TRUE(style.is_guess()) << cell << " is no number";
      continue;
    }
    EXPECT_EQ(style.parse("1,234"), 1.234) << cell;
    EXPECT_FALSE(style.is_guess()) << cell;
  }
  for (const std::string_view cell : {"12.5", "0.125", "1234.567", "1,234,567", ".5"}) {
    EXPECT_EQ(style_of({"1,234", cell}).parse("1,234"), 1234.0) << cell;
  }
}

TEST(LocaleNumber, WithoutAClearCellTheCLocaleHoldsAndIsAGuess) {
  const NumberStyle style = style_of({"1,234", "7", "n/a"});
  EXPECT_TRUE(style.is_guess());
  EXPECT_EQ(style.ambiguous_cell(), "1,234");
  EXPECT_EQ(style.parse("1,234"), 1234.0);
  EXPECT_FALSE(style_of({"7", "12"}).is_guess()) << "nothing is unclear";
}

TEST(LocaleNumber, TheMajorityDecides) { EXPECT_EQ(style_of({"535.104", "1,5", "2,5", "3.25"}).parse("1.234"), 1234.0); }

TEST(LocaleNumber, SignsExponentsAndPercents) {
  const NumberStyle style;
  EXPECT_EQ(style.parse("-1.5"), -1.5);
  EXPECT_EQ(style.parse("+2"), 2.0);
  EXPECT_EQ(style.parse("1.5e+06"), 1.5e6);
  EXPECT_EQ(style.parse("2E-3"), 2e-3);
  EXPECT_EQ(style.parse(" 45.7 % "), 45.7);
}

TEST(LocaleNumber, WhatIsNoNumberIsNothing) {
  const NumberStyle style;
  for (const std::string_view cell :
       {"",     " ",    "n/a", "N/A", "nan", "-nan",  "inf", "-",   "abc",         "1.2.3", "1,23",   "12,34", "1,2345",
        "1 23", "0x10", "1e",  "1e+", "e5",  "1e999", "--1", "1;2", "(256, 1, 1)", "%",     "1,,234", ",",     "."}) {
    EXPECT_FALSE(style.parse(cell).has_value()) << cell;
  }
}

TEST(MetricUnits, AreBroughtToBaseUnits) {
  const auto expect = [](std::string_view unit, Dimension dimension, double scale) {
    const auto parsed = parse_metric_unit(unit);
    ASSERT_TRUE(parsed.has_value()) << unit;
    EXPECT_EQ(parsed->dimension, dimension) << unit;
    EXPECT_DOUBLE_EQ(parsed->scale, scale) << unit;
  };
  expect("", Dimension::count, 1);
  expect("%", Dimension::percent, 1);
  expect("byte", Dimension::bytes, 1);
  expect("Kbyte", Dimension::bytes, 1e3);
  expect("Mbyte", Dimension::bytes, 1e6);
  expect("Gbyte", Dimension::bytes, 1e9);
  expect("MiB", Dimension::bytes, 1048576);
  expect("nsecond", Dimension::seconds, 1e-9);
  expect("usecond", Dimension::seconds, 1e-6);
  expect("msecond", Dimension::seconds, 1e-3);
  expect("second", Dimension::seconds, 1);
  expect("ns", Dimension::seconds, 1e-9);
  expect("us", Dimension::seconds, 1e-6);
  expect("ms", Dimension::seconds, 1e-3);
  expect("s", Dimension::seconds, 1);
  expect("hz", Dimension::hertz, 1);
  expect("Khz", Dimension::hertz, 1e3);
  expect("Ghz", Dimension::hertz, 1e9);
  expect("cycle/second", Dimension::hertz, 1);
  expect("cycle/nsecond", Dimension::hertz, 1e9);
  expect("byte/second", Dimension::bytes_per_second, 1);
  expect("Gbyte/s", Dimension::bytes_per_second, 1e9);
  expect("byte/block", Dimension::other, 1);
  expect("register/thread", Dimension::count, 1);
  expect("inst", Dimension::count, 1);
  expect("inst/cycle", Dimension::count, 1);
  EXPECT_FALSE(parse_metric_unit("furlong").has_value());
  EXPECT_FALSE(parse_metric_unit("byte/fortnight").has_value());
}

}  // namespace
}  // namespace rafter
