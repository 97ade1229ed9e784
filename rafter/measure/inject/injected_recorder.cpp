#include "rafter/measure/inject/injected_recorder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "rafter/base/error.h"

namespace rafter::inject {

namespace {

constexpr auto kFlushPeriod = std::chrono::milliseconds(250);  // how much a killed process loses
constexpr cuda::RecorderOptions kEverything = {.calls = true, .waits = true, .ranges = true, .overhead = true, .tags = false};

// A process may become another program that uses a GPU too, and containers number processes alike: the first free name.
std::string free_path(const std::string& folder) {
  const std::string stem = folder + "/" + std::to_string(::getpid());
  std::string path = stem + ".rec";
  struct stat status;
  for (int n = 2; n < 1000 && ::stat(path.c_str(), &status) == 0; ++n) path = stem + "-" + std::to_string(n) + ".rec";
  return path;
}

std::string command_of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

// A thread that gets none of the program's signals.
template <typename Work>
std::thread quiet_thread(Work work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(work);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

InjectedRecorder::InjectedRecorder(const std::string& folder)
    : writer_(free_path(folder).c_str()), recorder_(writer_, kEverything) {
  about_.command = command_of_this_process();
  if (!writer_.is_open()) return;
  start();
  writer_.write_note(note());
  if (about_.fault.empty()) flusher_ = quiet_thread([this] { flush_now_and_then(); });
}

void InjectedRecorder::start() noexcept {
  try {
    recorder_.start();
  } catch (const std::exception& error) {
    about_.fault = error.what();
  }
}

RecordingNote InjectedRecorder::note() const {
  RecordingNote note = recorder_.note();
  note.command = about_.command;
  note.fault = about_.fault;
  note.dropped += writer_.lost();
  return note;
}

void InjectedRecorder::flush_now_and_then() {
  std::unique_lock lock(mutex_);
  while (!woken_.wait_for(lock, kFlushPeriod, [this] { return finished_; })) {
    lock.unlock();
    recorder_.flush();
    writer_.flush();
    writer_.write_note(note());
    lock.lock();
  }
}

void InjectedRecorder::finish() noexcept {
  if (abandoned_) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finished_, true)) return;
  }
  woken_.notify_all();
  if (flusher_.joinable()) flusher_.join();
  recorder_.stop();
  try {
    writer_.close(note());
  } catch (...) {  // no memory for the note: the events were written
    writer_.flush();
  }
}

void InjectedRecorder::abandon() noexcept {
  abandoned_ = true;
  writer_.abandon();
}

}  // namespace rafter::inject
