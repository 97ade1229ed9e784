#include "rafter/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace rafter {

namespace {

constexpr int kUsual = 80, kNarrowest = 20, kWidest = 10000;

bool moves_its_cursor() {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace

int terminal_columns(int file) {
  if (::isatty(file) != 1) return 0;
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int told = columns != nullptr ? std::atoi(columns) : 0;
  return told > 0 && told < kWidest ? told : kUsual;
}

int status_columns(int file) {
  const int columns = terminal_columns(file);
  return columns >= kNarrowest && moves_its_cursor() ? columns : 0;
}

std::string cut_to(std::string_view text, int columns) {
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins(text[end]) && columns-- <= 0) break;
  }
  return std::string(text.substr(0, end));
}

}  // namespace rafter
