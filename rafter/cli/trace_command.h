// `rafter trace -- CMD ARGS...`: any program that uses a GPU, recorded as it runs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rafter {

struct CommandTraceOptions {
  std::vector<std::string> words;  // the command: what follows --
  std::string from;                // or recordings that were kept: a folder, or one file
  std::string keep;                // the folder to keep recordings in; empty: they are removed
  std::string range;               // the NVTX range that is the step
  int64_t skip = 0, steps = 0;     // of the steps found; steps 0: all
  int64_t top = 20;                // kernels of the table; 0: all
  std::string perfetto, html;      // files to write
  bool json = false;

  bool chosen() const { return !words.empty() || !from.empty(); }
};

// All but --json, which both kinds of trace have.
void add_command_trace_options(CLI::App& command, CommandTraceOptions& options);

// An input Error that names an option of the other kind of trace.
void check_trace_kind(const CLI::App& command, const CommandTraceOptions& options);

// The command's exit status; 0 of recordings that were kept.
int trace_command(const CommandTraceOptions& options, const std::string& command_line);

}  // namespace rafter
