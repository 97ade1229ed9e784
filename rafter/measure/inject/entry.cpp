// What the CUDA driver and NVTX call in a process that `rafter trace -- CMD` started: the whole interface of
// librafter_inject.so.
//
// The driver loads the library that CUDA_INJECTION64_PATH names when CUDA is first used, and calls InitializeInjection; a
// program that never does is left alone. NVTX loads what NVTX_INJECTION64_PATH names, and is handed on to CUPTI: to the very
// one that records.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>

#include "rafter/measure/cuda/cupti.h"
#include "rafter/measure/inject/injected_recorder.h"

#define RAFTER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

rafter::inject::InjectedRecorder* recorder = nullptr;  // never destroyed: threads of CUPTI may outlive the end of main

void finish() {
  if (recorder != nullptr) recorder->finish();
}

void abandon() {
  if (recorder != nullptr) recorder->abandon();
}

int forward_nvtx(const char* entry, void* argument) noexcept {
  try {
    const auto initialize = reinterpret_cast<int (*)(void*)>(::dlsym(rafter::cuda::cupti().library, entry));
    return initialize != nullptr ? initialize(argument) : 0;
  } catch (...) {  // no CUPTI: ranges are not recorded, and the recording says why
    return 0;
  }
}

}  // namespace

RAFTER_EXPORT int InitializeInjection(void) {
  const char* folder = std::getenv("RAFTER_RECORD_FOLDER");
  if (folder == nullptr || *folder == '\0' || recorder != nullptr) return 1;
  try {
    recorder = new rafter::inject::InjectedRecorder(folder);
    ::pthread_atfork(nullptr, nullptr, abandon);
    // The driver is loaded, and has registered its own end before: ours comes first.
    std::atexit(finish);
    std::at_quick_exit(finish);
  } catch (...) {  // no memory: the program goes on unrecorded
  }
  return 1;
}

RAFTER_EXPORT int InitializeInjectionNvtx2(void* get_export_table) {
  return forward_nvtx("InitializeInjectionNvtx2", get_export_table);
}

RAFTER_EXPORT int InitializeInjectionNvtx(void* get_export_table) {  // of NVTX 2
  return forward_nvtx("InitializeInjectionNvtx", get_export_table);
}
