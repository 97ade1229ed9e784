#include "rafter/measure/profiles/ncu_report.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "rafter/base/error.h"

namespace rafter {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMostOutput = size_t{1} << 30;

std::string shell_quoted(std::string_view path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return printable(out + "'", 400);
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw input_error(
      {in_quotes(path), "a report of Nsight Compute in its own binary format, and " + what, "its table in CSV",
       fmt::format("export it: ncu --import {} --page raw --csv > {}", shell_quoted(path), shell_quoted(path + ".csv"))});
}

// A program that runs, with a pipe from its standard output. It is ended and waited for at the latest when this goes.
class Child {
 public:
  Child(const char* program, const std::vector<std::string>& arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw runtime_failure({"a pipe", std::strerror(errno)});
    read_end_ = ends[0];
    std::vector<char*> argv = {const_cast<char*>(program)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // A group of its own, so that what it starts ends with it.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    error_ = ::posix_spawnp(&pid_, program, &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error_ != 0) pid_ = -1;
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      wait();
    }
    ::close(read_end_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int error() const { return error_; }  // of the start; 0 where it runs
  int output() const { return read_end_; }
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int read_end_ = -1;
  int error_ = 0;
};

// Whether something is to be read before `deadline`.
bool wait_for_output(int fd, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched{fd, POLLIN, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

bool is_ncu_report(std::string_view bytes) { return bytes.substr(0, 4) == std::string_view("NVR\0", 4); }

std::string export_ncu_report(const std::string& path, std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  const std::string file = path.starts_with('-') ? "./" + path : path;  // no path is taken for an option
  Child ncu("ncu", {"--import", file, "--page", "raw", "--csv"});
  if (ncu.error() != 0) refuse(path, "there is no 'ncu' on PATH here to read it");
  std::string out;
  std::array<char, 65536> piece;
  while (true) {
    if (!wait_for_output(ncu.output(), deadline))
      refuse(path, fmt::format("'ncu' took longer than {} s to read it", patience.count() / 1000.0));
    const ssize_t count = ::read(ncu.output(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    out.append(piece.data(), static_cast<size_t>(count));
    if (out.size() > kMostOutput) refuse(path, "'ncu' printed more than 1 GiB of it");
  }
  const int status = ncu.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string how =
        WIFEXITED(status) ? fmt::format("ended with status {}", WEXITSTATUS(status)) : std::string("was ended by a signal");
    refuse(path, fmt::format("'ncu' could not read it: it {}", how));
  }
  return out;
}

}  // namespace rafter
