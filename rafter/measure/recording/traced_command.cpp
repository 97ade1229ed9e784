#include "rafter/measure/recording/traced_command.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "rafter/base/error.h"
#include "rafter/device/device.h"

extern char** environ;  // NOLINT: its name is POSIX's

namespace rafter {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLibraryName = "librafter_inject.so";
constexpr const char* kCudaVariable = "CUDA_INJECTION64_PATH";
constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

std::atomic<pid_t> g_command = 0;  // for the handler

// Hands signals on to the command from when it runs until it has ended. Those of the terminal it got itself.
class SignalForwarding {
 public:
  SignalForwarding() {
    sigset_t forwarded;
    ::sigemptyset(&forwarded);
    for (const int signal : kForwarded) ::sigaddset(&forwarded, signal);
    ::sigprocmask(SIG_BLOCK, &forwarded, &mask_);  // what comes before the command runs waits for it
  }
  ~SignalForwarding() {
    for (size_t i = 0; begun_ && i < kForwarded.size(); ++i) ::sigaction(kForwarded[i], &before_[i], nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalForwarding(const SignalForwarding&) = delete;
  SignalForwarding& operator=(const SignalForwarding&) = delete;

  void begin(pid_t command) {
    g_command = command;
    struct sigaction action {};
    action.sa_sigaction = [](int signal, siginfo_t* info, void*) {
      const pid_t command = g_command;
      if (command > 0 && info->si_code <= 0) ::kill(command, signal);  // above 0 it is the terminal's, to both
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t i = 0; i < kForwarded.size(); ++i) ::sigaction(kForwarded[i], &action, &before_[i]);
    begun_ = true;
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  const sigset_t& mask() const { return mask_; }

 private:
  sigset_t mask_{};
  std::array<struct sigaction, kForwarded.size()> before_{};
  bool begun_ = false;
};

std::vector<std::string> environment_for(const TracedCommand& command) {
  const std::array<std::string, 3> added = {std::string(kCudaVariable) + "=" + command.library,
                                            "NVTX_INJECTION64_PATH=" + command.library,
                                            "RAFTER_RECORD_FOLDER=" + command.folder};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& ours : added) replaced = replaced || ours.starts_with(name);
    if (!replaced) variables.emplace_back(text);
  }
  variables.insert(variables.end(), added.begin(), added.end());
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void check_no_other_profiler() {
  const char* injected = std::getenv(kCudaVariable);
  if (injected == nullptr || *injected == '\0' || fs::path(injected).filename() == kLibraryName) return;
  throw runtime_failure({kCudaVariable, in_quotes(injected), "not to be set: a process has room for one profiler",
                         "run rafter on its own, not under nsys or ncu"});
}

Error not_started(const std::string& program, int code) {
  const std::string thing = "the command " + in_quotes(program);
  if (code == ENOENT) return input_error({thing, "not found", "a program, in PATH or by its path"});
  return input_error({thing, std::string("not to be run: ") + std::strerror(code), "a program"});
}

pid_t start(const TracedCommand& command, const sigset_t& mask) {
  std::vector<std::string> words = command.words, variables = environment_for(command);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);  // which this program ignores
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t child = 0;
  const int code =
      ::posix_spawnp(&child, words[0].c_str(), nullptr, &attributes, pointers_to(words).data(), pointers_to(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0) throw not_started(command.words[0], code);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_profiler(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  for (const char* known : {"nsys", "ncu", "nv-nsight-cu-cli", "nvprof", "cuda-gdb", "compute-sanitizer", "cuda-memcheck"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

CommandEnd run_traced(const TracedCommand& command) {
  check_no_other_profiler();
  SignalForwarding signals;
  const auto began = std::chrono::steady_clock::now();
  const pid_t child = start(command, signals.mask());
  signals.begin(child);
  const int status = wait_for(child);
  g_command = 0;
  return {status, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
}

std::string why_no_recording(const std::vector<std::string>& words) {
  const std::string program = in_quotes(words[0]);
  if (is_profiler(words[0])) {
    return program + " is a profiler itself, and a process has room for one. Trace the command that it would run.";
  }
  const CudaStatus status = cuda_status();
  if (status.devices == 0) return "there is no GPU to use: " + status.reason + ".";
  return program + " never used CUDA: a program for the CPU only, or one that was not given a GPU.";
}

std::string inject_library() {
  const fs::path library = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / kLibraryName;
  if (fs::exists(library)) return library.string();
  throw runtime_failure({in_quotes(library.string()), "missing",
                         "the library that records a program, built where there is an nvcc",
                         "build with CUDA, or install it beside the program: bin/ and lib/"});
}

}  // namespace rafter
