#include "rafter/cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace rafter {

namespace {
volatile std::sig_atomic_t g_interrupted = 0;
}

void catch_interrupts() {
  g_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = [](int signal) { g_interrupted = signal; };
  action.sa_flags = SA_RESETHAND;  // no SA_RESTART: a read that waits for a line ends
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

int interrupted_status() { return 128 + g_interrupted; }

void report_cut_files() {
  struct sigaction action {};
  action.sa_handler = [](int) {  // only what is allowed in a handler
    constexpr std::string_view kLine =
        "rafter: the model file changed while it was in use, or another file that was being read.\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
    ::_exit(1);
  };
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace rafter
