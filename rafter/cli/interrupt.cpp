#include "rafter/cli/interrupt.h"

#include <csignal>

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

}  // namespace rafter
