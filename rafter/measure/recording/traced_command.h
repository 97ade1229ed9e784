// Runs a command so that every process of it that uses a GPU is recorded: the CUDA driver loads our library into it.
//
// The command has this process's standard streams, folder and environment, and gets its signals. Nothing is known of it
// beforehand: it may be a shell script that starts others.
#pragma once

#include <string>
#include <vector>

namespace rafter {

struct TracedCommand {
  std::vector<std::string> words;  // the program, looked for in PATH, and its arguments
  std::string library;             // librafter_inject.so, an absolute path
  std::string folder;              // where recordings go, an absolute path
};

struct CommandEnd {
  int status = 0;  // as shells report it: 128 + N where signal N ended it
  double seconds = 0;
};

// Waits for it. SIGINT, SIGTERM and their kin that this process gets are handed on, unless the terminal sent them to both. An
// input Error where the command cannot be started; a runtime one where this process runs under another profiler.
CommandEnd run_traced(const TracedCommand& command);

// Why a command that ran left no recording, as a sentence and the remedy.
std::string why_no_recording(const std::vector<std::string>& words);

// The library beside the running program: ../lib/librafter_inject.so. A runtime Error where it is not there.
std::string inject_library();

}  // namespace rafter
