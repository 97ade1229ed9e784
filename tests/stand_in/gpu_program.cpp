// A program that looks, to whoever traces it, as if it used a GPU: it loads the library that CUDA_INJECTION64_PATH names and
// calls it as the CUDA driver does, then gives records to CUPTI's stand-in in the place of work.
//
// Usage: gpu_program [WHAT...], in order:
//   kernels N      starts CUDA where it has not, and runs N kernels, each with its call
//   everything     a copy, a fill, a wait, a range and a device beside
//   start          starts CUDA and runs nothing
//   nvtx           loads the library that NVTX_INJECTION64_PATH names, as NVTX does, and prints what it answers
//   threads N      N kernels on each of two threads
//   say TEXT       prints it;  error TEXT: on standard error;  echo: standard input
//   sleep MS       waits
//   fork           a child ends by exit(0), having done nothing
//   run [WHAT...]  runs itself with the rest of the line, and goes on when that has ended
//   signal N       sends itself a signal;  _exit N, exit N: ends so
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/stand_in/stand_in.h"

namespace {

using namespace rafter;

stand_in::Give give = nullptr;

void start_cuda() {
  if (give != nullptr) return;
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path != nullptr ? ::dlopen(path, RTLD_NOW) : nullptr;
  if (library != nullptr) {
    const auto initialize = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
    if (initialize == nullptr || initialize() == 0) std::abort();
    give = stand_in::loaded_give("libcupti.so.13");
  }
  if (give == nullptr) give = [](const CUpti_Activity*, size_t) {};
}

void start_nvtx() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  void* library = path != nullptr ? ::dlopen(path, RTLD_LAZY) : nullptr;
  if (library == nullptr) return;
  const auto initialize = reinterpret_cast<int (*)(const void*)>(::dlsym(library, "InitializeInjectionNvtx2"));
  std::printf("nvtx: %d\n", initialize != nullptr ? initialize(path) : -1);
  std::fflush(stdout);
}

void run_kernels(int count) {
  start_cuda();
  for (uint32_t i = 1; i <= static_cast<uint32_t>(count); ++i) {
    const uint64_t start = i * 2000;
    stand_in::give(give, stand_in::call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, start - 1500, start - 1000, i));
    stand_in::give(give, stand_in::kernel(i % 2 != 0 ? "_Z4stepPf" : "_Z3addIiEvPT_i", start, start + 1000, i));
  }
}

void run_everything() {
  start_cuda();
  stand_in::give(give, stand_in::device(0, "NVIDIA Stand-in"));
  stand_in::give(give, stand_in::copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, 10, 20, 1001));
  stand_in::give(give, stand_in::fill(512, 30, 40, 1002));
  CUpti_ActivitySynchronization wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  wait.start = stand_in::kEpoch + 40;
  wait.end = stand_in::kEpoch + 60;
  stand_in::give(give, wait);
  stand_in::give(give, stand_in::marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 1, "step", 5));
  stand_in::give(give, stand_in::marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 1, nullptr, 70));
}

void run_threads(int count) {
  start_cuda();
  std::thread other(run_kernels, count);
  run_kernels(count);
  other.join();
}

void fork_and_wait() {
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  ::waitpid(child, nullptr, 0);
}

void run_itself(char** words) {
  const pid_t child = ::fork();
  if (child == 0) {
    char name[] = "gpu_program";
    std::vector<char*> arguments = {name};
    while (*words != nullptr) arguments.push_back(*words++);
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
    std::abort();
  }
  ::waitpid(child, nullptr, 0);
}

void echo(const char*) {
  for (int c = std::getchar(); c != EOF; c = std::getchar()) std::putchar(c);
}

struct Action {
  std::string_view name;
  bool has_value;
  void (*run)(const char* value);
};

constexpr Action kActions[] = {
    {"start", false, [](const char*) { start_cuda(); }},
    {"nvtx", false, [](const char*) { start_nvtx(); }},
    {"everything", false, [](const char*) { run_everything(); }},
    {"fork", false, [](const char*) { fork_and_wait(); }},
    {"echo", false, echo},
    {"kernels", true, [](const char* count) { run_kernels(std::atoi(count)); }},
    {"threads", true, [](const char* count) { run_threads(std::atoi(count)); }},
    {"say", true, [](const char* text) { std::puts(text), std::fflush(stdout); }},
    {"error", true, [](const char* text) { std::fprintf(stderr, "%s\n", text); }},
    {"sleep", true, [](const char* ms) { ::usleep(static_cast<useconds_t>(std::atoi(ms)) * 1000); }},
    {"signal", true, [](const char* signal) { ::kill(::getpid(), std::atoi(signal)); }},
    {"_exit", true, [](const char* status) { ::_exit(std::atoi(status)); }},
    {"exit", true, [](const char* status) { std::exit(std::atoi(status)); }},
};

const Action* find_action(std::string_view name) {
  for (const Action& action : kActions) {
    if (action.name == name) return &action;
  }
  return nullptr;
}

}  // namespace

int main(int, char** argv) {
  for (char** word = argv + 1; *word != nullptr; ++word) {
    if (std::string_view(*word) == "run") {
      run_itself(word + 1);
      break;
    }
    const Action* action = find_action(*word);
    if (action == nullptr || (action->has_value && *++word == nullptr)) return 99;
    action->run(*word);
  }
  return 0;
}
