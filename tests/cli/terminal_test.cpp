// What is drawn on a terminal: progress before results and never beside them, lines no wider than the window.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

// Everything that `rafter` writes with both streams on one terminal.
std::string on_terminal(std::vector<std::string> arguments, unsigned short columns, const char* term) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = columns;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    ::setenv("TERM", term, 1);
    ::setenv("XDG_CACHE_HOME", "/none", 1);
    arguments.insert(arguments.begin(), RAFTER_BINARY);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(RAFTER_BINARY, argv.data());
    ::_exit(127);
  }
  std::string text;
  char block[4096];
  for (ssize_t count; (count = ::read(terminal, block, sizeof block)) > 0;) text.append(block, static_cast<size_t>(count));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << text;
  return text;
}

class OnATerminal : public testing::Test {
 protected:
  OnATerminal() : model(folder.write("tiny.gguf", test::tiny_gguf(test::tiny_config(Architecture::qwen2)).bytes())) {}
  std::vector<std::string> trace() const { return {"trace", model, "--device", "cpu", "-r", "2", "-d", "20"}; }
  test::TempFolder folder;
  std::string model;
};

const std::string kErase = "\r\033[K";

TEST_F(OnATerminal, ProgressIsGoneBeforeTheTableBegins) {
  const std::string text = on_terminal(trace(), 80, "xterm");
  const size_t progress = text.find("tracing ["), table = text.find(" on cpu: one decode step");
  ASSERT_NE(progress, std::string::npos) << text;
  ASSERT_NE(table, std::string::npos) << text;
  EXPECT_LT(progress, table);
  EXPECT_EQ(text.find("tracing", table), std::string::npos) << text;
  const size_t last = text.rfind(kErase);
  EXPECT_LT(last, table);
  EXPECT_EQ(text.substr(last + kErase.size(), table - last - kErase.size()).find('\r'), std::string::npos);
  EXPECT_EQ(text.substr(last, table - last).find("tracing"), std::string::npos) << text;
}

TEST_F(OnATerminal, LinesFitItsWidth) {
  const std::string text = on_terminal(trace(), 24, "xterm");
  size_t drawn = 0;
  for (size_t at = text.find(kErase); at != std::string::npos; at = text.find(kErase, at + 1)) {
    const size_t begin = at + kErase.size(), end = text.find_first_of("\r\n", begin);
    if (text.compare(begin, 7, "tracing") != 0) continue;
    EXPECT_LT(end - begin, 24u) << text.substr(begin, end - begin);
    ++drawn;
  }
  EXPECT_GT(drawn, 0u) << text;
}

TEST_F(OnATerminal, NothingIsDrawnWhereItCannotBe) {
  EXPECT_EQ(on_terminal(trace(), 80, "dumb").find('\033'), std::string::npos);
  EXPECT_EQ(on_terminal(trace(), 19, "xterm").find('\033'), std::string::npos);
}

}  // namespace
}  // namespace rafter
