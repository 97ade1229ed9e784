#include "rafter/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rafter/base/error.h"

namespace rafter {

namespace {

// 0, or the error number.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

void write_out(std::string_view text) {
  const int status = write_all(STDOUT_FILENO, text);
  if (status == EPIPE) throw OutputClosed{};
  if (status != 0) throw runtime_failure({"standard output", "not writable: " + std::string(std::strerror(status))});
}

void note(std::string_view text) { write_all(STDERR_FILENO, text); }

void write_file(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    throw input_error({in_quotes(path), "not writable: " + std::string(std::strerror(errno)), {}, "name another file"});
  }
  int status = write_all(file, text);
  if (::close(file) != 0 && status == 0) status = errno;
  if (status != 0) throw runtime_failure({in_quotes(path), "not writable: " + std::string(std::strerror(status))});
}

bool out_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool err_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace rafter
