#include "tests/cli/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace rafter::test {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::seconds(60);

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  int ends[2] = {-1, -1};
};

[[noreturn]] void become_rafter(std::vector<std::string> arguments, const CommandOptions& options, Pipe& in, Pipe& out,
                                Pipe& err) {
  ::setenv("XDG_CACHE_HOME", options.cache.c_str(), 1);
  if (options.address_space > 0) {
    const auto bytes = static_cast<rlim_t>(options.address_space);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ::dup2(in.ends[0], STDIN_FILENO);
  const int file =
      options.out_file.empty() ? out.ends[1] : ::open(options.out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(err.ends[1], STDERR_FILENO);
  arguments.insert(arguments.begin(), RAFTER_BINARY);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(RAFTER_BINARY, argv.data());
  ::_exit(127);
}

// Appends what is there to read; false at the end.
bool drain(int file, std::string& text) {
  char block[4096];
  const ssize_t count = ::read(file, block, sizeof block);
  if (count > 0) text.append(block, static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

Outcome rafter(const std::vector<std::string>& arguments, const CommandOptions& options) {
  Pipe in, out, err;
  const pid_t child = ::fork();
  if (child == 0) become_rafter(arguments, options, in, out, err);
  in.close_end(0);
  out.close_end(1);
  err.close_end(1);
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_GE(::write(in.ends[1], options.input.data(), options.input.size()), options.input.empty() ? 0 : -1);
  in.close_end(1);

  Outcome outcome;
  const auto start = Clock::now();
  bool interrupted = options.interrupt_after_ms == 0, late = false;
  pollfd files[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    ::poll(files, 2, 20);
    if (files[0].revents != 0 && !drain(out.ends[0], outcome.out)) files[0].fd = -1;
    if (files[1].revents != 0 && !drain(err.ends[0], outcome.err)) files[1].fd = -1;
    const auto elapsed = Clock::now() - start;
    if (!interrupted && elapsed > std::chrono::milliseconds(options.interrupt_after_ms)) {
      ::kill(child, SIGINT);
      interrupted = true;
    }
    if (!late && elapsed > kLimit) {
      ADD_FAILURE() << "rafter took longer than a minute";
      ::kill(child, SIGKILL);
      late = true;
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string smollm2() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string base = cache != nullptr && *cache != '\0' ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  const std::string path = base + "/rafter/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::is_regular_file(path) ? path : std::string();
}

}  // namespace rafter::test
