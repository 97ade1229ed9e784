#include "rafter/cli/input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rafter/base/error.h"
#include "rafter/cli/interrupt.h"

namespace rafter {

namespace {

// Appends what can be read; false at the end of input or after Ctrl-C.
bool read_more(std::string& text) {
  char block[65536];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
    if (count > 0) {
      text.append(block, static_cast<size_t>(count));
      return true;
    }
    if (count == 0 || interrupted()) return false;
    if (errno != EINTR) throw runtime_failure({"standard input", "not readable: " + std::string(std::strerror(errno))});
  }
}

}  // namespace

std::string read_standard_input(int64_t limit) {
  std::string text;
  while (read_more(text)) {
    if (static_cast<int64_t>(text.size()) > limit)
      throw input_error({"standard input", "longer than that", fmt::format("at most {} bytes", limit)});
  }
  return text;
}

std::optional<std::string> LineReader::next() {
  size_t searched = 0;
  for (;;) {
    const size_t end = pending_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    searched = pending_.size();
    if (read_more(pending_)) continue;
    if (pending_.empty() || interrupted()) return std::nullopt;
    return std::exchange(pending_, {});
  }
}

bool in_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }

}  // namespace rafter
