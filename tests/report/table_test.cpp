#include "rafter/report/table.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

Table sample() {
  Table table({{"op"}, {"time", Align::right}});
  table.add({"embed", "1.50 us"});
  table.add({"a, \"b\" | c", "2 ± 1"});
  return table;
}

TEST(Table, TextAlignsByCharactersNotBytes) {
  EXPECT_EQ(sample().text(),
            "op             time\n"
            "embed       1.50 us\n"
            "a, \"b\" | c    2 ± 1\n");
}

TEST(Table, MarkdownSaysTheAlignmentAndEscapesBars) {
  EXPECT_EQ(sample().markdown(),
            "| op         |    time |\n"
            "| ---------- | ------: |\n"
            "| embed      | 1.50 us |\n"
            "| a, \"b\" \\| c |   2 ± 1 |\n");
}

TEST(Table, CsvQuotesWhatMustBeQuoted) { EXPECT_EQ(sample().csv(), "op,time\nembed,1.50 us\n\"a, \"\"b\"\" | c\",2 ± 1\n"); }

TEST(Table, MissingCellsAreEmpty) {
  Table table({{"a"}, {"b"}, {"c"}});
  table.add({"1"});
  EXPECT_EQ(table.csv(), "a,b,c\n1,,\n");
  EXPECT_EQ(table.text(), "a  b  c\n1\n");
}

}  // namespace
}  // namespace rafter
