#include "rafter/base/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rafter/base/progress.h"

namespace rafter {
namespace {

TEST(Terminal, AFileIsNone) {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(terminal_columns(file), 0);
  EXPECT_EQ(status_columns(file), 0);
  ::close(file);
}

TEST(Terminal, TextIsCutBetweenCharacters) {
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abc", 2), "ab");
  EXPECT_EQ(cut_to("\xc3\xa4\xe2\x82\xac!", 2), "\xc3\xa4\xe2\x82\xac");
  EXPECT_EQ(cut_to("abc", 0), "");
}

TEST(Terminal, AProgressLineFitsAndKeepsItsPercentage) {
  EXPECT_EQ(progress_line("loading x", 0.5, "", 79), "loading x [============            ]  50%");
  EXPECT_EQ(progress_line("loading x", 0.5, "weights", 79), "loading x [============            ]  50%  weights");
  EXPECT_EQ(progress_line("loading x", 1, "weights", 30), "loading x [=============] 100%");
  EXPECT_EQ(progress_line("loading a long name", 0.07, "weights", 19), "loading a long   7%");
  for (int columns = 19; columns < 120; ++columns) {
    const std::string line = progress_line("loading SmolLM2 135M Instruct", 0.99, "blk.29.ffn_down.weight", columns);
    EXPECT_LE(line.size(), static_cast<size_t>(columns)) << line;
    EXPECT_NE(line.find(" 99%"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace rafter
