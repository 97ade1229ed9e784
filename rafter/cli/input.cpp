#include "rafter/cli/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rafter/base/error.h"
#include "rafter/base/units.h"
#include "rafter/cli/interrupt.h"

namespace rafter {

namespace {

// Appends what can be read; false at the end of input or after Ctrl-C.
bool read_more(int file, const std::string& thing, std::string& text) {
  char block[65536];
  for (;;) {
    const ssize_t count = ::read(file, block, sizeof block);
    if (count > 0) {
      text.append(block, static_cast<size_t>(count));
      return true;
    }
    if (count == 0 || interrupted()) return false;
    if (errno != EINTR) throw runtime_failure({thing, "not readable: " + std::string(std::strerror(errno))});
  }
}

std::string read_all(int file, const std::string& thing, int64_t limit) {
  std::string text;
  while (read_more(file, thing, text)) {
    if (static_cast<int64_t>(text.size()) > limit)
      throw input_error({thing, "longer than " + format_capacity(limit), fmt::format("at most {} bytes", limit)});
  }
  return text;
}

constexpr const char* kStandardInput = "standard input";

}  // namespace

std::string read_standard_input(int64_t limit) { return read_all(STDIN_FILENO, kStandardInput, limit); }

std::string read_stream(const std::string& path, int64_t limit) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == EINTR && interrupted()) throw Interrupted{};
  if (file < 0) throw input_error({in_quotes(path), "not readable (" + std::string(std::strerror(errno)) + ")"});
  struct Closing {
    int file;
    ~Closing() { ::close(file); }
  } closing{file};
  return read_all(file, in_quotes(path), limit);
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
    if (read_more(STDIN_FILENO, kStandardInput, pending_)) continue;
    if (pending_.empty() || interrupted()) return std::nullopt;
    return std::exchange(pending_, {});
  }
}

bool in_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }

}  // namespace rafter
